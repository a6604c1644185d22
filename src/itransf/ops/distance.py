"""Distances and lengths."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from itransf.ops.grouping import Grouping, one_group

Norm = Literal[1, 2]
Length = Literal["unit", "ball", "none"]
SQUARE_FLOOR = 1e-12  # keeps the root differentiable where rounding gives zero or less


def distance(difference: Tensor, norm: Norm) -> Tensor:
    """Return the l1 or l2 length of the last dimension."""
    length: Tensor = torch.linalg.vector_norm(difference, ord=norm, dim=-1)
    return length


def pairwise_distance(queries: Tensor, candidates: Tensor, norm: Norm) -> Tensor:
    """Return the distance of every query (q, d) to every candidate (n, d), as (q, n)."""
    return grouped_distance(queries, candidates[None], one_group(queries), norm)


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
        parts = zip(torch.split(queries, grouping.counts), tables.unbind(), strict=True)
        return torch.cat([torch.cdist(rows, table, p=1.0) for rows, table in parts])
    squares: Tensor = _SquaredDistance.apply(queries, tables, grouping.counts)  # type: ignore[no-untyped-call]
    return squares.clamp_min(SQUARE_FLOOR).sqrt()


class _SquaredDistance(torch.autograd.Function):
    """|q - c|^2 = |q|^2 + |c|^2 - 2 q.c: matrix products alone, and nothing the size of the tables is copied twice."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, tables: Tensor, counts: list[int]) -> Tensor:
        ctx.save_for_backward(queries, tables)
        ctx.counts = counts
        lengths = torch.linalg.vector_norm(tables, dim=-1).square_()  # (u, n)
        own = torch.linalg.vector_norm(queries, dim=-1, keepdim=True).square_()  # (b, 1)
        squares = queries.new_empty(len(queries), tables.shape[1])
        parts = zip(
            torch.split(queries, counts),
            torch.split(own, counts),
            tables,
            lengths,
            torch.split(squares, counts),
            strict=True,
        )
        for q, q_length, table, length, out in parts:
            torch.mm(q, table.t().contiguous(), out=out)  # (b_u, d) @ (d, n)
            out.mul_(-2.0).add_(q_length).add_(length)
        return squares

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        queries, tables = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        for_queries, for_tables = torch.empty_like(queries), torch.empty_like(tables)
        parts = zip(
            torch.split(gradient, ctx.counts),
            torch.split(queries, ctx.counts),
            tables,
            torch.split(for_queries, ctx.counts),
            for_tables,
            strict=True,
        )
        for g, q, table, grad_q, grad_table in parts:  # d/dq: 2 (sum(g) q - g c); d/dc: 2 (sum(g) c - g' q)
            torch.mul(q, g.sum(1, keepdim=True), out=grad_q)
            grad_q.addmm_(g, table, alpha=-1.0).mul_(2.0)
            torch.mul(table, g.sum(0)[:, None], out=grad_table)
            grad_table.addmm_(g.t(), q, alpha=-1.0).mul_(2.0)
        return for_queries, for_tables, None


def limit_length(vectors: Tensor, length: Length) -> Tensor:
    """Scale vectors to unit l2 length, or into the unit ball, or leave them."""
    if length == "none":
        return vectors
    norms: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    floor = 1e-12 if length == "unit" else 1.0
    return vectors / norms.clamp_min(floor)
