"""ComplEx."""

from typing import ClassVar

import torch
from torch import Tensor

from itransf.models.base import Operation, Paper, Part, Side
from itransf.models.distmult import DistMult
from itransf.ops.distance import moduli


class ComplEx(DistMult):
    """Re <h, r, conj(t)> with complex embeddings   (Trouillon et al., 2016).

    A table holds real parts, then imaginary parts.
    """

    paper: ClassVar[Paper | None] = Paper(
        "Complex Embeddings for Simple Link Prediction",
        "Trouillon, Welbl, Riedel, Gaussier, Bouchard",
        "ICML 2016",
        "https://proceedings.mlr.press/v48/trouillon16.html",
    )
    fused: ClassVar[bool] = True
    operation: ClassVar[Operation | None] = "complex"
    numbers: ClassVar[int] = 2

    def invert(self, relations: Tensor) -> Tensor:
        """Return the complex conjugates, (b, 2 d)."""
        real, imaginary = relations.chunk(2, dim=1)
        return torch.cat([real, -imaginary], dim=1)

    def split_relation(self, relation: int) -> tuple[tuple[Part, ...], Tensor]:
        """Return the real part of a relation's vector, which is symmetric, and the imaginary one, (2, 2 d)."""
        vector = self.relation_table()[relation, None]
        inverse = self.invert(vector)
        parts = tuple(Part("relation", None, None, symmetry=kind) for kind in ("symmetric", "antisymmetric"))
        return parts, torch.cat([vector + inverse, vector - inverse]) / 2

    def multiply(self, entities: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return h r when tails are asked for, t conj(r) when heads are, (b, 2 d)."""
        real, imaginary = entities.chunk(2, dim=1)
        r_real, r_imaginary = relations.chunk(2, dim=1)
        if side == "head":
            r_imaginary = -r_imaginary
        product = real * r_real - imaginary * r_imaginary, real * r_imaginary + imaginary * r_real
        return torch.cat(product, dim=1)

    def pair(self, heads: Tensor, tails: Tensor) -> Tensor:
        """Return conj(h) t, (b, 2 d): Re <h, r, conj(t)> is its dot product with r."""
        real, imaginary = heads.chunk(2, dim=1)
        t_real, t_imaginary = tails.chunk(2, dim=1)
        return torch.cat([real * t_real + imaginary * t_imaginary, real * t_imaginary - imaginary * t_real], dim=1)

    def moduli(self, vectors: Tensor) -> Tensor:
        """Return the moduli of complex numbers, (b, d)."""
        return moduli(vectors)
