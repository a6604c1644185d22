"""Rows grouped by key, and products of grouped rows with the matrices of their groups.

Some linear algebra libraries run a @ b.T many times slower than a @ b, so b is copied into shape first. MKL does not,
and there the copy of a table of all entities would cost more than the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Rows of a matrix that is copied into shape, at most.
COPIED_ROWS = 512 if torch.backends.mkl.is_available() else None  # type: ignore[no-untyped-call]
TILE = 32  # rows that a GPU multiplies with a copy of their matrix
COPIED_NUMBERS = 1 << 28  # numbers of all those copies, at most


@dataclass(frozen=True)
class Grouping:
    """Rows grouped by key.

    Attributes:
        keys: Distinct keys, ascending, (u,).
        counts: Number of rows of each key.
        order: Row numbers sorted by key, (n,), or None if the rows are sorted already.
    """

    keys: Tensor
    counts: list[int]
    order: Tensor | None


def group_rows(keys: Tensor) -> Grouping:
    """Group rows by key; sorted rows are not moved."""
    is_sorted = bool((keys[1:] >= keys[:-1]).all())
    order = None if is_sorted else torch.argsort(keys, stable=True)
    distinct, counts = torch.unique_consecutive(keys if order is None else keys[order], return_counts=True)
    return Grouping(distinct, counts.tolist(), order)


def one_group(rows: Tensor) -> Grouping:
    """Return the grouping with all rows in one group."""
    return Grouping(torch.zeros(1, dtype=torch.int64, device=rows.device), [len(rows)], None)


def occurrence_numbers(keys: Tensor) -> Tensor:
    """Return, for each element, the number of equal elements before it."""
    order = torch.argsort(keys, stable=True)
    _, counts = torch.unique_consecutive(keys[order], return_counts=True)
    starts = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    numbers = torch.empty_like(keys)
    numbers[order] = torch.arange(len(keys), device=keys.device) - starts
    return numbers


def grouped_product(rows: Tensor, matrices: Tensor, grouping: Grouping) -> Tensor:
    """Return matrices[key of row] @ row for every row.

    Args:
        rows: Vectors (n, d).
        matrices: One matrix per distinct key, (u, p, d), or its diagonal, (u, d).
        grouping: Grouping of the rows.

    Returns:
        Products (n, p), in the order of the rows.
    """
    ordered = rows if grouping.order is None else rows[grouping.order]
    if matrices.dim() == 2:
        counts = torch.tensor(grouping.counts, dtype=torch.int64, device=rows.device)
        products = ordered * matrices.repeat_interleave(counts, dim=0, output_size=len(rows))
    elif rows.is_cuda and len(matrices) > 1 and is_tiled(matrices, grouping.counts):
        products = tiled_product(ordered, matrices, grouping.counts)
    else:
        products = _GroupedProduct.apply(ordered, matrices, grouping.counts)  # type: ignore[no-untyped-call]
    return products if grouping.order is None else torch.empty_like(products).index_copy(0, grouping.order, products)


def is_tiled(matrices: Tensor, counts: list[int]) -> bool:
    """Return whether the copies of matrices (u, p, d), one for each tile of a group's rows, fit in memory."""
    return sum(-(-count // TILE) for count in counts) * matrices[0].numel() <= COPIED_NUMBERS


def tiled_product(rows: Tensor, matrices: Tensor, counts: list[int]) -> Tensor:
    """Return the product of each row (n, d), sorted by group, with its group's matrix (u, p, d), (n, p).

    Groups are cut into tiles of rows, padded with zeros, so that a GPU launches one product instead of one per group.
    The gradient by a matrix is a sum over its tiles, whose order a GPU keeps only with `training.deterministic`.
    """
    sizes = torch.tensor(counts, dtype=torch.int64, device="cpu")
    tiles = -(-sizes // TILE)
    first = (tiles.cumsum(0) - tiles) * TILE - (sizes.cumsum(0) - sizes)
    places = (torch.arange(len(rows), device="cpu") + first.repeat_interleave(sizes)).to(rows.device)
    groups = torch.repeat_interleave(tiles).to(rows.device)  # of each tile, (t,)
    padded = rows.new_zeros(len(groups) * TILE, rows.shape[1]).index_copy(0, places, rows)
    products = padded.view(len(groups), TILE, -1) @ matrices.index_select(0, groups).transpose(1, 2)  # (t, TILE, p)
    return products.flatten(0, 1).index_select(0, places)


class _GroupedProduct(torch.autograd.Function):
    """One matrix product per group, without copying matrices per row or padding rows."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, matrices: Tensor, counts: list[int]) -> Tensor:
        ctx.save_for_backward(rows, matrices)
        ctx.counts = counts
        products = rows.new_empty(len(rows), matrices.shape[1])
        by_group = torch.split(rows, counts), transpose(matrices), torch.split(products, counts)
        for x, w, y in zip(*by_group, strict=True):
            torch.mm(x, w, out=y)  # (n_u, d) @ (d, p)
        return products

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        rows, matrices = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        for_rows, for_matrices = torch.empty_like(rows), torch.empty_like(matrices)
        by_group = [torch.split(each, ctx.counts) for each in (gradient, rows, for_rows)]
        for g, x, grad_x, w, grad_w in zip(*by_group, matrices, for_matrices, strict=True):
            torch.mm(g, w, out=grad_x)
            torch.mm(g.t(), x, out=grad_w)
        return for_rows, for_matrices, None


def transpose(matrices: Tensor) -> Tensor:
    """Return the transposed matrices (u, d, p) of (u, p, d), in the shape in which products with them are fast."""
    transposed = matrices.transpose(1, 2)
    is_copied = COPIED_ROWS is None or matrices.shape[1] <= COPIED_ROWS
    return transposed.contiguous() if is_copied else transposed


def multiply_transposed(left: Tensor, right: Tensor) -> Tensor:
    """Return left @ right.T, (n, d) and (p, d) -> (n, p)."""
    return grouped_product(left, right[None], one_group(left))


def spread_product(table: Tensor, matrices: Tensor) -> Tensor:
    """Return matrices[u] @ row for every row of the table and every matrix.

    Args:
        table: Vectors (n, d).
        matrices: (u, p, d), or diagonals, (u, d).

    Returns:
        Products (u, n, p).
    """
    if matrices.dim() == 2:
        return table * matrices[:, None]
    if table.is_cuda:  # one batched product; transposed sides cost nothing there
        return table @ matrices.transpose(1, 2)
    return _SpreadProduct.apply(table, matrices)  # type: ignore[no-any-return, no-untyped-call]


class _SpreadProduct(torch.autograd.Function):
    """Products of the same rows with every matrix, each written in place."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, matrices: Tensor) -> Tensor:
        ctx.save_for_backward(table, matrices)
        products = table.new_empty(len(matrices), len(table), matrices.shape[1])
        for w, y in zip(transpose(matrices), products, strict=True):
            torch.mm(table, w, out=y)  # (n, d) @ (d, p)
        return products

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        table, matrices = ctx.saved_tensors
        for_table, for_matrices = torch.zeros_like(table), torch.empty_like(matrices)
        for g, w, grad_w in zip(gradients[0].contiguous(), matrices, for_matrices, strict=True):
            for_table.addmm_(g, w)  # (n, p) @ (p, d)
            torch.mm(g.t(), table, out=grad_w)
        return for_table, for_matrices
