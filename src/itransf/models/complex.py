"""ComplEx."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from itransf.models.base import Paper, Side, look_up
from itransf.models.distmult import DistMult, DistMultConfig


class ComplEx(DistMult):
    """Re <h, r, conj(t)> with complex embeddings   (Trouillon et al., 2016).

    A table holds real parts, then imaginary parts.
    """

    Config: ClassVar[type] = DistMultConfig
    paper = Paper(
        "Complex Embeddings for Simple Link Prediction",
        "Trouillon, Welbl, Riedel, Gaussier, Bouchard",
        "ICML 2016",
        "https://proceedings.mlr.press/v48/trouillon16.html",
    )
    numbers: ClassVar[int] = 2

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return h r when tails are asked for, t conj(r) when heads are, (b, 2 d)."""
        real, imaginary = look_up(self.entities, anchors).chunk(2, dim=1)
        r_real, r_imaginary = look_up(self.relations, relations).chunk(2, dim=1)
        if side == "head":
            r_imaginary = -r_imaginary
        product = real * r_real - imaginary * r_imaginary, real * r_imaginary + imaginary * r_real
        return torch.cat(product, dim=1)

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the moduli of the embeddings of each triple, (b, d)."""
        parts = [vectors.chunk(2, dim=1) for vectors in super().factors(heads, relations, tails)]
        # The floor keeps the gradient of the root finite where a number is zero.
        return tuple((real.square() + imaginary.square()).clamp_min(1e-24).sqrt() for real, imaginary in parts)
