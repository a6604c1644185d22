"""RotatE."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import Compare, Defaults, Operation, Paper, QueryModel, Side, Sizes, look_up
from itransf.ops.distance import moduli


@dataclass(frozen=True)
class RotatEConfig:
    """Settings of RotatE."""

    dim: int = setting(100, "Complex dimension d of entity embeddings.", "64 under 20,000 triples, else 100")
    span: float = setting(
        10.0,
        "Range of initialization: entries are uniform in +-span/d; relation entries are rescaled to angles in +-pi. "
        "Sun et al. (2019): loss.margin + 2.",
        above=0,
    )


class RotatE(QueryModel):
    """-sum_i |h[i] exp(i r[i]) - t[i]| with complex entities and angles r   (Sun et al., 2019).

    A row of entities holds real parts, then imaginary parts. A row of relations is proportional to the angles, so that
    a small learning rate suits both.
    """

    Config: ClassVar[type] = RotatEConfig
    config: RotatEConfig
    paper = Paper(
        "RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space",
        "Sun, Deng, Nie, Tang",
        "ICLR 2019",
        "https://arxiv.org/abs/1902.10197",
    )
    fused: ClassVar[bool] = True
    compare: Compare = "modulus"
    operation: ClassVar[Operation | None] = "rotate"
    chosen: ClassVar[Defaults] = {
        "training": {"learning_rate": 0.01},
        "loss": {"name": "self_adversarial", "margin": 6.0, "candidates": 0},
        "negatives": {"per_triple": 128, "shared": True, "filtered": True, "sampler": "uniform"},
    }

    def __init__(self, sizes: Sizes, config: RotatEConfig) -> None:
        super().__init__(sizes, config)
        bound = config.span / config.dim
        self.angle = torch.pi / bound  # of a relation's number one
        entities = torch.empty(sizes.entities, 2 * config.dim, device="cpu").uniform_(-bound, bound)
        relations = torch.empty(sizes.relations, config.dim, device="cpu").uniform_(-bound, bound)
        self.entities, self.relations = nn.Parameter(entities), nn.Parameter(relations)

    def rotate(self, vectors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return complex vectors turned by the angles of relations, backwards for candidates on the head side."""
        angles = self.angle * look_up(self.relations, relations)
        cosines, sines = angles.cos(), angles.sin() if side == "tail" else -angles.sin()
        real, imaginary = vectors.chunk(2, dim=1)
        return torch.cat([real * cosines - imaginary * sines, real * sines + imaginary * cosines], dim=1)

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return h r when tails are asked for, t conj(r) when heads are, (b, 2 d)."""
        return self.rotate(look_up(self.entities, anchors), relations, side)

    @torch.no_grad()
    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Start the last relation at the angles that turn the heads of its triples to the tails, by least squares."""
        (a, b), (c, d) = self.entities[heads].chunk(2, dim=1), self.entities[tails].chunk(2, dim=1)
        self.relations[-1] = torch.atan2((a * d - b * c).sum(0), (a * c + b * d).sum(0)) / self.angle

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the moduli of the entities of each triple."""
        return moduli(look_up(self.entities, heads)), moduli(look_up(self.entities, tails))
