"""RESCAL."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import Compare, Defaults, Paper, QueryModel, Side, Sizes, look_up
from itransf.models.distmult import ADAGRAD
from itransf.ops.grouped import group_rows, grouped_product


@dataclass(frozen=True)
class RescalConfig:
    """Settings of RESCAL."""

    dim: int = setting(64, "Dimension d of entity embeddings; a relation has d^2 numbers.")


class Rescal(QueryModel):
    """h M[r] t, with a matrix for each relation   (Nickel et al., 2011)."""

    Config: ClassVar[type] = RescalConfig
    config: RescalConfig
    paper = Paper(
        "A Three-Way Model for Collective Learning on Multi-Relational Data",
        "Nickel, Tresp, Kriegel",
        "ICML 2011",
        "https://icml.cc/2011/papers/438_icmlpaper.pdf",
    )
    compare: Compare = "dot"
    chosen: ClassVar[Defaults] = {"model": {"dim": 64}, "training": ADAGRAD, "regularizer": {"weight": 0.01}}

    def __init__(self, sizes: Sizes, config: RescalConfig) -> None:
        super().__init__(sizes, config)
        d = config.dim
        self.entities = nn.Parameter(torch.randn(sizes.entities, d, device="cpu") / (10 * d**0.5))
        self.relations = nn.Parameter(torch.randn(sizes.relations, d * d, device="cpu") / (10 * d**0.5))

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return h M[r] where tails are asked for, M[r] t where heads are, (b, d)."""
        grouping = group_rows(relations)
        matrices = look_up(self.relations, grouping.keys).view(-1, self.config.dim, self.config.dim)
        matrices = matrices if side == "head" else matrices.transpose(1, 2)
        return grouped_product(look_up(self.entities, anchors), matrices, grouping)

    @torch.no_grad()
    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Start the last relation at the mean outer product of its triples' ends, as long as the others' median."""
        mean = torch.einsum("ni,nj->ij", self.entities[heads], self.entities[tails]).flatten()
        length = self.relations[:-1].norm(dim=1).median()
        self.relations[-1] = length * nn.functional.normalize(mean, dim=0)
