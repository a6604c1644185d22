"""Products of rows with matrices, arranged so that no product has a transposed right side.

Some linear algebra libraries run a @ b.T many times slower than a @ b; copying b into shape first costs little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Grouping:
    """Rows brought together by key.

    Attributes:
        keys: The distinct keys, ascending, (u,).
        counts: How many rows each key has.
        order: The rows sorted by key, (n,), or None where they are sorted already.
    """

    keys: Tensor
    counts: list[int]
    order: Tensor | None


def group_rows(keys: Tensor) -> Grouping:
    """Group rows by key; rows that come sorted are not moved."""
    is_sorted = bool((keys[1:] >= keys[:-1]).all())
    order = None if is_sorted else torch.argsort(keys, stable=True)
    distinct, counts = torch.unique_consecutive(keys if order is None else keys[order], return_counts=True)
    return Grouping(distinct, counts.tolist(), order)


def sorted_grouping(grouping: Grouping) -> Grouping:
    """Return the grouping of the rows once they are sorted."""
    return Grouping(grouping.keys, grouping.counts, None)


def grouped_product(rows: Tensor, matrices: Tensor, grouping: Grouping) -> Tensor:
    """Return matrices[key of row] @ row for every row.

    Args:
        rows: Vectors (n, d).
        matrices: One matrix per distinct key, (u, p, d).
        grouping: How the rows fall on the keys.

    Returns:
        Products (n, p), in the order of the rows.
    """
    if grouping.order is None:
        return _GroupedProduct.apply(rows, matrices, grouping.counts)  # type: ignore[no-any-return, no-untyped-call]
    products: Tensor = _GroupedProduct.apply(rows[grouping.order], matrices, grouping.counts)  # type: ignore[no-untyped-call]
    return torch.empty_like(products).index_copy(0, grouping.order, products)


class _GroupedProduct(torch.autograd.Function):
    """One matrix product per group: no matrix is copied per row and no row is padded."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, matrices: Tensor, counts: list[int]) -> Tensor:
        ctx.save_for_backward(rows, matrices)
        ctx.counts = counts
        products = rows.new_empty(len(rows), matrices.shape[1])
        turned = matrices.transpose(1, 2).contiguous()
        for x, w, y in zip(rows.split(counts), turned.unbind(), products.split(counts), strict=True):
            torch.mm(x, w, out=y)  # (n_u, d) @ (d, p)
        return products

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        rows, matrices = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        for_rows, for_matrices = torch.empty_like(rows), torch.empty_like(matrices)
        parts = zip(
            gradient.split(ctx.counts),
            rows.split(ctx.counts),
            matrices.unbind(),
            for_rows.split(ctx.counts),
            for_matrices.unbind(),
            strict=True,
        )
        for g, x, w, grad_x, grad_w in parts:
            torch.mm(g, w, out=grad_x)
            torch.mm(g.t(), x, out=grad_w)
        return for_rows, for_matrices, None


def multiply_transposed(left: Tensor, right: Tensor) -> Tensor:
    """Return left @ right.T, (n, d) and (p, d) -> (n, p)."""
    return _MultiplyTransposed.apply(left, right)  # type: ignore[no-any-return, no-untyped-call]


class _MultiplyTransposed(torch.autograd.Function):
    """left @ right.T whose three products all have an untransposed right side."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor) -> Tensor:
        ctx.save_for_backward(left, right)
        return left @ right.t().contiguous()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        left, right = ctx.saved_tensors
        gradient = gradients[0].contiguous()
        return gradient @ right, gradient.t() @ left
