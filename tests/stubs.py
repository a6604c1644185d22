"""Small models for tests: scores read from a table, and a bilinear model."""

from __future__ import annotations

import numpy.typing as npt
import torch
from torch import Tensor, nn

from itransf.models import Model, Side, Sizes
from itransf.models.base import Compare, Pool, QueryModel


class TableModel(Model):
    """Scores (heads, relations, tails) read from a table."""

    def __init__(self, table: npt.ArrayLike) -> None:
        scores = torch.as_tensor(table, dtype=torch.float32)
        super().__init__(Sizes(scores.shape[0], scores.shape[1]), None)
        self.table = nn.Parameter(scores)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        return self.table[heads, relations, tails]

    def score_tails(self, heads: Tensor, relations: Tensor) -> Tensor:
        return self.table[heads, relations]

    def score_heads(self, relations: Tensor, tails: Tensor) -> Tensor:
        return self.table[:, relations, tails].T


class BilinearModel(QueryModel):
    """sum_i h_i r_i t_i; `shared` says whether all relations are given the same table of candidates."""

    def __init__(self, sizes: Sizes, dim: int = 4, shared: bool = True) -> None:
        super().__init__(sizes, None)
        self.entities = nn.Parameter(torch.randint(-2, 3, (sizes.entities, dim)).float())
        self.relations = nn.Parameter(torch.randint(-2, 3, (sizes.relations, dim)).float())
        self.shared = shared

    @property
    def compare(self) -> Compare:
        return "dot"

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        return (self.entities[heads] * self.relations[relations] * self.entities[tails]).sum(1)

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        vectors = self.entities[anchors]
        return vectors * self.relations[relations] if self.shared else vectors

    def pool(self, entities: Tensor | None = None) -> Pool:
        return Pool(entities, self.entities if entities is None else self.entities[entities])

    def candidates(self, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        assert pool.vectors is not None
        table = pool.vectors.expand(len(relations), -1, -1)
        return table if self.shared else table * self.relations[relations][:, None]
