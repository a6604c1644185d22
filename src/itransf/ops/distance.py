"""Distances between vectors, and constraints on their length."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Literal

import torch
from torch import Tensor

from itransf.ops.grouped import Grouping, transpose

Norm = Literal[1, 2]
Counted = Literal[1, 2, "moduli"]  # distances that candidates are ranked by: of either norm, or the sum of moduli
Length = Literal["unit", "ball", "none"]
SQUARE_FLOOR = 1e-12  # keeps the root differentiable where rounding gives zero or less
MODULI_AT_ONCE = {"cpu": 1 << 17, "cuda": 1 << 27}  # complex differences in memory; those of a CPU fit in its cache
GATHERED_ROWS = 16  # rows that one program of the kernel of gathered distances takes


def has_triton() -> bool:
    """Return whether GPU kernels can be compiled."""
    return find_spec("triton") is not None


def distance(difference: Tensor, norm: Norm) -> Tensor:
    """Return the l1 or l2 length of the last dimension."""
    length: Tensor = torch.linalg.vector_norm(difference, ord=norm, dim=-1)
    return length


def grouped_distance(queries: Tensor, tables: Tensor, grouping: Grouping, norm: Norm) -> Tensor:
    """Return the distance of every query to every candidate of its own group's table.

    Args:
        queries: (b, d), sorted by group.
        tables: Candidates of each group, (u, n, d).
        grouping: Grouping of the queries.
        norm: Norm of the distance.

    Returns:
        Distances (b, n).
    """
    if norm == 1 and not len(queries):
        return queries.new_empty(0, tables.shape[1])
    if norm == 1:
        parts = zip(torch.split(queries, grouping.counts), tables.unbind(), strict=True)
        return torch.cat([torch.cdist(rows, table, p=1.0) for rows, table in parts])
    squares: Tensor = _SquaredDistance.apply(queries, tables, grouping.counts)  # type: ignore[no-untyped-call]
    return squares.clamp_min(SQUARE_FLOOR).sqrt()


class _SquaredDistance(torch.autograd.Function):
    """|q - c|^2 = |q|^2 + |c|^2 - 2 q.c: matrix products only, with one copy of the tables."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, tables: Tensor, counts: list[int]) -> Tensor:
        ctx.save_for_backward(queries, tables)
        ctx.counts = counts
        lengths = torch.linalg.vector_norm(tables, dim=-1).square_()  # (u, n)
        own = torch.linalg.vector_norm(queries, dim=-1, keepdim=True).square_()  # (b, 1)
        squares = queries.new_empty(len(queries), tables.shape[1])
        by_group = [torch.split(each, counts) for each in (queries, own, squares)]
        for q, q_length, out, table, length in zip(*by_group, transpose(tables), lengths, strict=True):
            torch.mm(q, table, out=out)  # (b_u, d) @ (d, n)
            out.mul_(-2.0).add_(q_length).add_(length)
        return squares

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        queries, tables = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        for_queries, for_tables = torch.empty_like(queries), torch.empty_like(tables)
        by_group = [torch.split(each, ctx.counts) for each in (gradient, queries, for_queries)]
        # d/dq: 2 (sum(g) q - g c); d/dc: 2 (sum(g) c - g' q)
        for g, q, grad_q, table, grad_table in zip(*by_group, tables, for_tables, strict=True):
            torch.mul(q, g.sum(1, keepdim=True), out=grad_q)
            grad_q.addmm_(g, table, alpha=-1.0).mul_(2.0)
            torch.mul(table, g.sum(0)[:, None], out=grad_table)
            grad_table.addmm_(g.t(), q, alpha=-1.0).mul_(2.0)
        return for_queries, for_tables, None


def moduli(vectors: Tensor) -> Tensor:
    """Return the moduli (..., d) of complex numbers (..., 2 d), real parts first."""
    real, imaginary = vectors.chunk(2, dim=-1)
    # The floor keeps the gradient of the root finite where a number is zero.
    return (real.square() + imaginary.square()).clamp_min(1e-24).sqrt()


def grouped_modulus_distance(queries: Tensor, tables: Tensor, grouping: Grouping) -> Tensor:
    """Return the sum of the moduli of q - c for every query and every candidate of its own group's table.

    Args:
        queries: Complex numbers, real parts first, (b, 2 d), sorted by group.
        tables: Candidates of each group, (u, n, 2 d).
        grouping: Grouping of the queries.

    Returns:
        Distances (b, n).
    """
    return _ModulusDistance.apply(queries, tables, grouping.counts)  # type: ignore[no-any-return, no-untyped-call]


def _list_differences(
    queries: Tensor, tables: Tensor, counts: list[int]
) -> Iterator[tuple[slice, int, Tensor, Tensor]]:
    """Yield, for a few queries of a group, their rows, the group, and real and imaginary parts of q - c, (q, n, d)."""
    at_once = max(1, 2 * MODULI_AT_ONCE[queries.device.type] // max(tables[0].numel(), 1))
    first = 0
    for group, count in enumerate(counts):
        real, imaginary = tables[group].chunk(2, dim=-1)
        for start in range(first, first + count, at_once):
            rows = slice(start, min(start + at_once, first + count))
            own = queries[rows, None].chunk(2, dim=-1)
            yield rows, group, own[0] - real, own[1] - imaginary
        first += count


class _ModulusDistance(torch.autograd.Function):
    """Moduli of differences, computed again for the gradient, so that few of them are in memory."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, tables: Tensor, counts: list[int]) -> Tensor:
        ctx.save_for_backward(queries, tables)
        ctx.counts = counts
        distances = queries.new_empty(len(queries), tables.shape[1])
        for rows, _, real, imaginary in _list_differences(queries, tables, counts):
            torch.sum(real.square_().addcmul_(imaginary, imaginary).sqrt_(), -1, out=distances[rows])
        return distances

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        queries, tables = ctx.saved_tensors
        for_queries, for_tables = torch.empty_like(queries), torch.zeros_like(tables)
        for rows, group, real, imaginary in _list_differences(queries, tables, ctx.counts):
            lengths = (real * real).addcmul_(imaginary, imaginary).sqrt_().clamp_min_(1e-12)
            weights = torch.div(gradients[0][rows, :, None], lengths, out=lengths)
            parts = real.mul_(weights), imaginary.mul_(weights)
            for_queries[rows] = torch.cat([part.sum(1) for part in parts], 1)
            for_tables[group] -= torch.cat([part.sum(0) for part in parts], 1)
        return for_queries, for_tables, None


def gathered_distance(tables: Tensor, rows: Tensor, targets: Tensor, norm: Norm) -> Tensor:
    """Return the distance of a row of every table from a target, for many rows at once.

    Args:
        tables: (c, n, d)
        rows: Row of the tables for each target, (b,).
        targets: Vectors to compare with, (b, d).
        norm: Norm of the distance.

    Returns:
        Distances (b, c).
    """
    if tables.is_cuda and tables.dtype == torch.float32 and has_triton():
        return _gathered_distance_cuda(tables.contiguous(), rows, targets.contiguous(), norm)
    return torch.stack([distance(table[rows] - targets, norm) for table in tables], 1)


def _gathered_distance_cuda(tables: Tensor, rows: Tensor, targets: Tensor, norm: Norm) -> Tensor:
    """Return gathered distances without writing the gathered rows to memory."""
    import triton  # noqa: PLC0415 - it is optional

    from itransf.ops.kernels import measure_gathered  # noqa: PLC0415

    count, height, dim = tables.shape
    distances = targets.new_empty(len(rows), count)
    if len(rows):
        measure_gathered[(-(-len(rows) // GATHERED_ROWS),)](
            tables, rows, targets, distances, len(rows), count, height, dim,
            NORM=norm, ROWS=GATHERED_ROWS, DIM=triton.next_power_of_2(dim),
        )  # fmt: skip
    return distances


def limit_length(vectors: Tensor, length: Length) -> Tensor:
    """Scale vectors to unit l2 norm (`unit`) or into the unit ball (`ball`), or leave them unchanged (`none`)."""
    if length == "none":
        return vectors
    norms: Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    floor = 1e-12 if length == "unit" else 1.0
    return vectors / norms.clamp_min(floor)
