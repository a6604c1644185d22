from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from itransf.ops import grouped
from itransf.ops.grouped import group_rows, grouped_product, is_tiled, multiply_transposed, tiled_product


def loop_product(rows: Tensor, matrices: Tensor, keys: list[int]) -> Tensor:
    """matrices[place of the key] @ row, one row at a time."""
    distinct = sorted(set(keys))
    return torch.stack([matrices[distinct.index(key)] @ row for key, row in zip(keys, rows, strict=True)])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=12), st.booleans())
def test_grouped_product_equals_a_loop(keys: list[int], arrive_sorted: bool) -> None:
    keys = sorted(keys) if arrive_sorted else keys
    torch.manual_seed(len(keys))
    rows = torch.randn(len(keys), 3, dtype=torch.float64)
    matrices = torch.randn(len(set(keys)), 3, 3, dtype=torch.float64)
    grouping = group_rows(torch.tensor(keys))
    assert grouping.keys.tolist() == sorted(set(keys))
    assert grouping.counts == [keys.count(key) for key in sorted(set(keys))]
    assert (grouping.order is None) == (keys == sorted(keys))
    torch.testing.assert_close(grouped_product(rows, matrices, grouping), loop_product(rows, matrices, keys))
    diagonals = matrices.diagonal(dim1=1, dim2=2)
    wanted = loop_product(rows, diagonals.diag_embed(), keys)
    torch.testing.assert_close(grouped_product(rows, diagonals, grouping), wanted)


@pytest.mark.parametrize("keys", [[0, 0, 1, 4], [4, 0, 1, 0, 4], [2]])
def test_grouped_product_has_the_right_gradient(keys: list[int]) -> None:
    torch.manual_seed(0)
    rows = torch.randn(len(keys), 3, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(len(set(keys)), 3, 3, dtype=torch.float64, requires_grad=True)
    grouping = group_rows(torch.tensor(keys))
    assert torch.autograd.gradcheck(lambda x, w: grouped_product(x, w, grouping), (rows, matrices))


def test_grouped_product_takes_gradients_and_matrices_that_are_not_contiguous() -> None:
    torch.manual_seed(0)
    keys = [0, 0, 1]
    rows = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(2, 4, 4, dtype=torch.float64).transpose(1, 2).requires_grad_()
    target = torch.randn(4, 3, dtype=torch.float64).t()
    fast = (grouped_product(rows, matrices, group_rows(torch.tensor(keys))) * target).sum()
    slow = (loop_product(rows, matrices, keys) * target).sum()
    for got, wanted in zip(
        torch.autograd.grad(fast, [rows, matrices]), torch.autograd.grad(slow, [rows, matrices]), strict=True
    ):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("copied", [None, 6, 5])
def test_grouped_product_takes_matrices_that_are_not_square(
    copied: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped, "COPIED_ROWS", copied)
    torch.manual_seed(0)
    keys = [3, 1, 3, 1, 1]
    rows = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(2, 6, 3, dtype=torch.float64, requires_grad=True)
    grouping = group_rows(torch.tensor(keys))
    torch.testing.assert_close(grouped_product(rows, matrices, grouping), loop_product(rows, matrices, keys))
    assert torch.autograd.gradcheck(lambda x, w: grouped_product(x, w, grouping), (rows, matrices))


@pytest.mark.parametrize("counts", [[1], [3, 1, 2], [2, 4, 5, 1]])
def test_tiles_give_the_same_product_and_gradients(counts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "TILE", 2)
    torch.manual_seed(0)
    keys = [key for key, count in enumerate(counts) for _ in range(count)]
    rows = torch.randn(len(keys), 3, dtype=torch.float64, requires_grad=True)
    matrices = torch.randn(len(counts), 4, 3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(tiled_product(rows, matrices, counts), loop_product(rows, matrices, keys))
    assert torch.autograd.gradcheck(lambda x, w: tiled_product(x, w, counts), (rows, matrices))


def test_products_are_tiled_while_the_copies_of_matrices_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouped, "TILE", 2)
    monkeypatch.setattr(grouped, "COPIED_NUMBERS", 36)
    matrices = torch.zeros(2, 4, 3)
    assert is_tiled(matrices, [2, 3])  # three tiles of twelve numbers
    assert not is_tiled(matrices, [3, 3])


def test_grouping_nothing_gives_nothing() -> None:
    grouping = group_rows(torch.zeros(0, dtype=torch.int64))
    assert (grouping.keys.tolist(), grouping.counts, grouping.order) == ([], [], None)
    assert grouped_product(torch.zeros(0, 3), torch.zeros(0, 3, 3), grouping).shape == (0, 3)
    assert grouped_product(torch.zeros(0, 3), torch.zeros(0, 3), grouping).shape == (0, 3)


def test_multiply_transposed_equals_the_product_and_its_gradient() -> None:
    torch.manual_seed(0)
    left = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    right = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(multiply_transposed(left, right), left @ right.T)
    assert torch.autograd.gradcheck(multiply_transposed, (left, right))
