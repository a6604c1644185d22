"""Distances and lengths."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from itransf.ops.products import Grouping, grouped_product, multiply_transposed

Norm = Literal[1, 2]
Length = Literal["unit", "ball", "none"]
SQUARE_FLOOR = 1e-12  # keeps the root differentiable where rounding gives zero or less


def distance(difference: Tensor, norm: Norm) -> Tensor:
    """Return the l1 or l2 length of the last dimension."""
    return torch.linalg.vector_norm(difference, ord=norm, dim=-1)


def pairwise_distance(queries: Tensor, candidates: Tensor, norm: Norm) -> Tensor:
    """Return the distance of every query (q, d) to every candidate (n, d), as (q, n)."""
    if norm == 1:
        return torch.cdist(queries, candidates, p=1.0)
    return _root(queries, candidates.square().sum(-1), multiply_transposed(queries, candidates))


def grouped_distance(queries: Tensor, tables: Tensor, grouping: Grouping, norm: Norm) -> Tensor:
    """Return the distance of every query to every candidate of its own group's table.

    Args:
        queries: (b, d), sorted by group.
        tables: The candidates as each group sees them, (u, n, d).
        grouping: How the queries fall on the groups.
        norm: The distance.

    Returns:
        Distances (b, n).
    """
    if norm == 1:
        parts = zip(queries.split(grouping.counts), tables.unbind(), strict=True)
        return torch.cat([torch.cdist(rows, table, p=1.0) for rows, table in parts])
    counts = torch.tensor(grouping.counts, device=queries.device)
    lengths = tables.square().sum(-1).repeat_interleave(counts, dim=0)  # (u, n) -> (b, n)
    return _root(queries, lengths, grouped_product(queries, tables, grouping))


def _root(queries: Tensor, squared_lengths: Tensor, products: Tensor) -> Tensor:
    """Return |q - c| = sqrt(|q|^2 + |c|^2 - 2 q.c): matrix products, forward and backward."""
    squares = queries.square().sum(1)[:, None] + squared_lengths - 2.0 * products
    return squares.clamp_min(SQUARE_FLOOR).sqrt()


def limit_length(vectors: Tensor, length: Length) -> Tensor:
    """Scale vectors to unit l2 length, or into the unit ball, or leave them."""
    if length == "none":
        return vectors
    norms = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    floor = 1e-12 if length == "unit" else 1.0
    return vectors / norms.clamp_min(floor)
