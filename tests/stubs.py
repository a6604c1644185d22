"""Small models for tests: scores read from a table, a bilinear model, and hyperplane projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from itransf.models import Model, Side, Sizes
from itransf.models.base import Compare, Pool, QueryModel
from itransf.models.projection import MatrixProjection, Projection
from itransf.models.translation import Translation, TranslationConfig


class TableModel(Model):
    """Scores (heads, relations, tails) read from a table."""

    def __init__(self, table: npt.ArrayLike) -> None:
        scores = torch.as_tensor(table, dtype=torch.float32)
        super().__init__(Sizes(scores.shape[0], scores.shape[1]), None)
        self.table = nn.Parameter(scores)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        return self.table[heads, relations, tails]


@dataclass(frozen=True)
class BilinearConfig:
    """Dimension, and whether all relations compare their queries with the same vectors."""

    dim: int = 4
    shared: bool = True


class BilinearModel(QueryModel):
    """sum_i h_i r_i t_i, of small whole numbers."""

    Config: ClassVar[type] = BilinearConfig

    def __init__(self, sizes: Sizes, config: BilinearConfig) -> None:
        super().__init__(sizes, config)
        self.entities = nn.Parameter(torch.randint(-2, 3, (sizes.entities, config.dim)).float())
        self.relations = nn.Parameter(torch.randint(-2, 3, (sizes.relations, config.dim)).float())
        self.shared = config.shared

    @property
    def compare(self) -> Compare:
        return "dot"

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        vectors = self.entities[anchors]
        return vectors * self.relations[relations] if self.shared else vectors

    def pool(self, entities: Tensor | None = None) -> Pool:
        return Pool(entities, self.entities if entities is None else self.entities[entities])

    def candidates(self, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        assert pool.vectors is not None
        table = pool.vectors.expand(len(relations), -1, -1)
        return table if self.shared else table * self.relations[relations][:, None]

    def answers(self, entities: Tensor, relations: Tensor, side: Side) -> Tensor:
        vectors = self.entities[entities]
        return vectors if self.shared else vectors * self.relations[relations]


class HyperplaneProjection(Projection):
    """x - (w_r . x) w_r, as in TransH, without a matrix form."""

    def __init__(self, relations: int, dim: int) -> None:
        super().__init__()
        self.normals = nn.Parameter(normalize(torch.randn(relations, dim, device="cpu"), dim=1))

    def forward(self, vectors: Tensor, relations: Tensor) -> Tensor:
        normals = self.normals[relations]
        return vectors - (normals * vectors).sum(-1, keepdim=True) * normals


class HyperplaneMatrices(MatrixProjection):
    """The same, given by the matrices I - w_r w_r^T."""

    def __init__(self, relations: int, dim: int) -> None:
        super().__init__()
        self.normals = nn.Parameter(normalize(torch.randn(relations, dim, device="cpu"), dim=1))

    def matrices(self, relations: Tensor) -> Tensor:
        normals = self.normals[relations]
        return torch.eye(normals.shape[1], dtype=normals.dtype) - normals[:, :, None] * normals[:, None]


class TransH(Translation):
    """-|P_r(h) + r - P_r(t)| with the projection of its class."""

    projection_class: type[Projection] = HyperplaneProjection

    def __init__(self, sizes: Sizes, config: TranslationConfig) -> None:
        super().__init__(sizes, config)
        self.project_head = self.project_tail = self.projection_class(sizes.relations, config.dim)  # type: ignore[call-arg]


class MatrixTransH(TransH):
    """TransH that gives its matrices."""

    projection_class = HyperplaneMatrices
