"""Distances and lengths."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from itransf.ops.products import multiply_transposed

Norm = Literal[1, 2]
Length = Literal["unit", "ball", "none"]
SQUARE_FLOOR = 1e-12  # keeps the root differentiable where rounding gives zero or less


def distance(difference: Tensor, norm: Norm) -> Tensor:
    """Return the l1 or l2 length of the last dimension."""
    return torch.linalg.vector_norm(difference, ord=norm, dim=-1)


def pairwise_distance(queries: Tensor, candidates: Tensor, norm: Norm) -> Tensor:
    """Return the distance of every query (q, d) to every candidate (e, d), as (q, e)."""
    if norm == 1:
        return torch.cdist(queries, candidates, p=1.0)
    # |q - c|^2 = |q|^2 + |c|^2 - 2 q.c: one matrix product, forward and backward.
    squares = queries.square().sum(1)[:, None] + candidates.square().sum(1)  # (q, e)
    squares = squares - 2.0 * multiply_transposed(queries, candidates)
    return squares.clamp_min(SQUARE_FLOOR).sqrt()


def limit_length(vectors: Tensor, length: Length) -> Tensor:
    """Scale vectors to unit l2 length, or into the unit ball, or leave them."""
    if length == "none":
        return vectors
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    floor = 1e-12 if length == "unit" else 1.0
    return vectors / norms.clamp_min(floor)
