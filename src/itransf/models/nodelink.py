"""Node and link features."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import SIDES, Defaults, Paper, Part, Pool, Side, Sizes, Split, look_up
from itransf.models.paths import PathConfig
from itransf.models.randomwalk import RandomWalk


@dataclass(frozen=True)
class NodeLinkConfig(PathConfig):
    """Settings of node and link features."""

    paths: int = setting(
        50,
        "Maximum number of features per relation; a feature is another relation or its inverse between the same two "
        "entities.",
        least=1,
    )
    fan_out: int = setting(
        1_000_000, "Maximum number of links of one relation and direction at an entity that count as features.", least=1
    )
    binary: bool = setting(True, "Use 0/1 link features instead of 1 / (number of such links at the head).")


class NodeLink(RandomWalk):
    """b[r] + u[r,h] + v[r,t] + sum_s w[r,s], over other links s between h and t   (Toutanova and Chen, 2015).

    All features are binary and observed in train: the entity at each end, and which relations link the two, forwards or
    backwards.
    """

    Config: ClassVar[type] = NodeLinkConfig
    config: NodeLinkConfig
    uses: ClassVar[str] = "features"
    length: ClassVar[int] = 1
    paper: ClassVar[Paper | None] = Paper(
        "Observed versus Latent Features for Knowledge Base and Text Inference",
        "Toutanova, Chen",
        "CVSC 2015",
        "https://aclanthology.org/W15-4007",
    )
    chosen: ClassVar[Defaults] = {**RandomWalk.chosen, "regularizer": {"name": "l2", "weight": 0.001}}

    def __init__(self, sizes: Sizes, config: NodeLinkConfig) -> None:
        super().__init__(sizes, config)
        self.heads, self.tails = (
            nn.Parameter(torch.zeros(sizes.relations * sizes.entities, 1, device="cpu")) for _ in range(2)
        )

    def node_weights(self, relations: Tensor, entities: Tensor, side: Side) -> Tensor:
        """Return the weights of entities at one end of relations, of their common shape."""
        table = self.heads if side == "head" else self.tails
        return look_up(table, relations * self.sizes.entities + entities).squeeze(-1)

    def direct(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the bias and the weights of the nodes of each triple, (b,)."""
        nodes = self.node_weights(relations, heads, "head") + self.node_weights(relations, tails, "tail")
        return super().direct(heads, relations, tails) + nodes

    def direct_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the bias and the weights of each query's node and of the pool's, (b, n)."""
        distinct, places = torch.unique(relations, return_inverse=True)
        entities = torch.arange(self.sizes.entities, device=anchors.device) if pool.entities is None else pool.entities
        known = self.node_weights(relations, anchors, SIDES[side == "head"])
        nodes = known[:, None] + self.node_weights(distinct[:, None], entities, side)[places]
        return super().direct_pool(anchors, relations, side, pool) + nodes

    def split_direct(self, triples: Tensor) -> Split:
        """Return the bias and the weights of the nodes as parts."""
        weights = [self.node_weights(triples[:, 1], triples[:, 2 * end], side) for end, side in enumerate(SIDES)]
        values = torch.stack([super().direct(*triples.unbind(1)), *weights], dim=1).double()
        return Split(tuple(Part(part, None, None) for part in ("relation", *SIDES)), values, values.sum(1))

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the weights of the links and nodes of each triple."""
        nodes = self.node_weights(relations, heads, "head"), self.node_weights(relations, tails, "tail")
        return *super().factors(heads, relations, tails), *(weights[:, None] for weights in nodes)
