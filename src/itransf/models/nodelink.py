"""Node and link features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import Paper, Part, Pool, Side, Sizes, Split, TrainingGraph, look_up, size_settings
from itransf.models.paths import Entries, PathConfig, PathModel


@dataclass(frozen=True)
class NodeLinkConfig(PathConfig):
    """Settings of node and link features."""

    paths: int = setting(50, "Maximum number of other relations, in either direction, whose links are features of one.")
    fan_out: int = setting(
        1_000_000, "Maximum number of links of one relation and direction at an entity that count as features."
    )


class NodeLink(PathModel):
    """u[r,h] + v[r,t] + sum_s w[r,s], over other links s between h and t   (Toutanova and Chen, 2015).

    All features are binary and observed in train: the entity at each end, and which relations link the two, forwards or
    backwards.
    """

    Config: ClassVar[type] = NodeLinkConfig
    config: NodeLinkConfig
    uses: ClassVar[str] = "features"
    length: ClassVar[int] = 1
    is_binary: ClassVar[bool] = True
    paper: ClassVar[Paper | None] = Paper(
        "Observed versus Latent Features for Knowledge Base and Text Inference",
        "Toutanova, Chen",
        "CVSC 2015",
        "https://aclanthology.org/W15-4007",
    )

    def __init__(self, sizes: Sizes, config: NodeLinkConfig) -> None:
        super().__init__(sizes, config)
        self.relations = nn.Parameter(torch.zeros(sizes.relations, config.paths, device="cpu"))
        self.heads, self.tails = (
            nn.Parameter(torch.zeros(sizes.relations, sizes.entities, device="cpu")) for _ in range(2)
        )

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings for a graph; a linear model needs few epochs."""
        found = size_settings(cls, graph, device)
        found["training"] |= {"epochs": 10, "optimizer": "adagrad", "learning_rate": 0.3, "lr_decay": "none"}
        return found | {"validation": {"every": 2}, "regularizer": {"name": "l2", "weight": 0.001}}

    def node_weights(self, relations: Tensor, entities: Tensor, side: Side) -> Tensor:
        """Return the weights of entities at one end of relations, (b,)."""
        distinct, places = torch.unique(relations, return_inverse=True)
        return look_up(self.heads if side == "head" else self.tails, distinct)[places, entities]

    def direct(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the weights of the nodes of each triple, (b,)."""
        return self.node_weights(relations, heads, "head") + self.node_weights(relations, tails, "tail")

    def direct_pool(self, anchors: Tensor, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the weights of each query's node and of the pool's, (b, n)."""
        table, other = (self.heads, "tail") if side == "head" else (self.tails, "head")
        distinct, places = torch.unique(relations, return_inverse=True)
        weights = look_up(table, distinct)
        known = self.node_weights(relations, anchors, other)  # type: ignore[arg-type]
        return known[:, None] + (weights if pool.entities is None else weights[:, pool.entities])[places]

    def split_direct(self, triples: Tensor) -> Split:
        """Return the weights of the nodes as parts."""
        heads, relations, tails = triples.unbind(1)
        weights = self.node_weights(relations, heads, "head"), self.node_weights(relations, tails, "tail")
        values = torch.stack(weights, dim=1).double()
        return Split((Part("head", None, None), Part("tail", None, None)), values, values.sum(1))

    def path_values(self, relations: Tensor, entries: Entries) -> Tensor:
        """Return the weight of each link, (n,)."""
        return look_up(self.relations, relations)[entries.rows, entries.slots]

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the weights of the links and nodes of each triple."""
        nodes = self.node_weights(relations, heads, "head"), self.node_weights(relations, tails, "tail")
        return look_up(self.relations, relations), *(weights[:, None] for weights in nodes)
