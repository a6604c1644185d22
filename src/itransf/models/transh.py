"""TransH."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from itransf.config import setting
from itransf.models.base import Paper, look_up
from itransf.models.projection import Projection
from itransf.models.translation import Translation, TranslationConfig, start_vectors
from itransf.ops.distance import SQUARE_FLOOR, limit_length
from itransf.ops.grouped import multiply_transposed

TOLERANCE = 1e-3  # cosine of normal and translation below which they count as orthogonal


@dataclass(frozen=True)
class TransHConfig(TranslationConfig):
    """Settings of TransH beside those of the family."""

    constraint_weight: float = setting(
        0.0,
        "Weight of the soft constraints, averaged over triples (C of the publication): entities in the unit ball, "
        "translations in their hyperplane.",
    )


class HyperplaneProjection(Projection):
    """Drops what is orthogonal to the hyperplane of a relation."""

    def __init__(self, relations: int, dim: int) -> None:
        super().__init__()
        self.normals = nn.Parameter(start_vectors(relations, dim, "unit"))

    def unit_normals(self, relations: Tensor) -> Tensor:
        """Return the normals, scaled to length one, (b, d)."""
        return limit_length(look_up(self.normals, relations), "unit")

    def forward(self, vectors: Tensor, relations: Tensor) -> Tensor:
        """Return v - (w[r] . v) w[r] for each row (b, d)."""
        normals = self.unit_normals(relations)
        return vectors - (vectors * normals).sum(-1, keepdim=True) * normals

    def project_table(self, table: Tensor, relations: Tensor) -> Tensor:
        """Return each row v (n, d) in the hyperplane of each relation (u,), (u, n, d)."""
        normals = self.unit_normals(relations)
        return table - multiply_transposed(normals, table)[:, :, None] * normals[:, None]

    def matrices(self, relations: Tensor) -> Tensor:
        """Return I - w w^T, (u, d, d)."""
        normals = self.unit_normals(relations)
        identity = torch.eye(normals.shape[1], dtype=normals.dtype, device=normals.device)
        return identity - normals[:, :, None] * normals[:, None]


class TransH(Translation):
    """-|P[r] h + r - P[r] t|, P[r] v = v - (w[r] . v) w[r] with unit normals w   (Wang et al., 2014)."""

    Config: ClassVar[type] = TransHConfig
    config: TransHConfig
    paper = Paper(
        "Knowledge Graph Embedding by Translating on Hyperplanes",
        "Wang, Zhang, Feng, Chen",
        "AAAI 2014",
        "https://ojs.aaai.org/index.php/AAAI/article/view/8870",
    )
    projection_kind = HyperplaneProjection
    one_projection: ClassVar[bool] = True
    project_head: HyperplaneProjection

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return the soft constraints: [|e|^2 - 1]_+ and [(w . r)^2 / |r|^2 - tolerance^2]_+."""
        if not self.config.constraint_weight:
            return None
        vectors, normals = self.translate(relations), self.project_head.unit_normals(relations)
        cosines = (vectors * normals).sum(1).square() / vectors.square().sum(1).clamp_min(SQUARE_FLOOR)
        terms = [relu(look_up(self.entities, ends).square().sum(1) - 1) for ends in (heads, tails)]
        return self.config.constraint_weight * torch.stack([*terms, relu(cosines - TOLERANCE**2)]).sum(0).mean()
