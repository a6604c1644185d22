"""DistMult."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import Compare, Paper, QueryModel, Side, Sizes, TrainingGraph, look_up, size_settings

SCALE = 1e-3  # standard deviation of initial embeddings (Lacroix et al., 2018)


@dataclass(frozen=True)
class DistMultConfig:
    """Settings of DistMult and ComplEx."""

    dim: int = setting(100, "Dimension d of entity and relation embeddings.", "64 under 20,000 triples, else 100")


class DistMult(QueryModel):
    """<h, r, t> = sum_i h[i] r[i] t[i]   (Yang et al., 2015)."""

    Config: ClassVar[type] = DistMultConfig
    config: DistMultConfig
    paper = Paper(
        "Embedding Entities and Relations for Learning and Inference in Knowledge Bases",
        "Yang, Yih, He, Gao, Deng",
        "ICLR 2015",
        "https://arxiv.org/abs/1412.6575",
    )
    compare: Compare = "dot"
    numbers: ClassVar[int] = 1  # real numbers per dimension

    def __init__(self, sizes: Sizes, config: DistMultConfig) -> None:
        super().__init__(sizes, config)
        width = self.numbers * config.dim
        self.entities = nn.Parameter(SCALE * torch.randn(sizes.entities, width, device="cpu"))
        self.relations = nn.Parameter(SCALE * torch.randn(sizes.relations, width, device="cpu"))

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings for a graph: cross-entropy over all entities with Adagrad and N3 (Lacroix et al., 2018)."""
        found = size_settings(cls, graph, device)
        found["training"] |= {"optimizer": "adagrad", "learning_rate": 0.1, "lr_decay": "none", "block_size": 1}
        return found | {"loss": {"candidates": 0}, "regularizer": {"weight": 0.01}}

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return the elementwise product of entity and relation, on either side."""
        return look_up(self.entities, anchors) * look_up(self.relations, relations)

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the embeddings of each triple."""
        return look_up(self.entities, heads), look_up(self.relations, relations), look_up(self.entities, tails)
