from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from itransf.interpret.ordering import cosine_distance, join_smoothly, merge_groups, order_columns, order_rows


def make_blocks(seed: int) -> tuple[npt.NDArray[np.float64], list[int]]:
    """Return shuffled rows of four kinds that have nothing in common, and their kinds."""
    generator = np.random.default_rng(seed)
    kinds = generator.permutation(np.repeat(np.arange(4), 3))
    rows = np.zeros((12, 8))
    for row, kind in enumerate(kinds):
        rows[row, 2 * kind : 2 * kind + 2] = generator.uniform(0.2, 1.0, 2)
    return rows, kinds.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_share_columns_stand_together(seed: int) -> None:
    rows, kinds = make_blocks(seed)
    ordered = [kinds[row] for row in order_rows(rows)]
    changes = sum(left != right for left, right in pairwise(ordered))
    assert changes == 3


@given(st.integers(0, 9), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_an_order_holds_every_row_once(count: int, width: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(-1, 2, (count, width)).astype(float)
    assert sorted(order_rows(rows)) == list(range(count))
    assert sorted(order_columns(rows)) == list(range(width))


def merge_naively(distance: npt.NDArray[np.float64]) -> list[int]:
    """Join the two groups with the smallest mean distance, computed anew each time."""
    groups = [[number] for number in range(len(distance))]
    while len(groups) > 1:
        pairs = [(left, right) for left in range(len(groups)) for right in range(left + 1, len(groups))]
        means = [float(np.mean([distance[a, b] for a in groups[x] for b in groups[y]])) for x, y in pairs]
        left, right = pairs[int(np.argmin(means))]
        groups[left] = join_smoothly(groups[left], groups[right], distance)
        del groups[right]
    return groups[0]


@pytest.mark.parametrize("seed", range(8))
def test_merging_equals_average_linkage_done_slowly(seed: int) -> None:
    distance = cosine_distance(np.random.default_rng(seed).uniform(0, 1, (9, 4)))
    assert merge_groups(distance) == merge_naively(distance)


def test_cosine_distance_is_zero_for_parallel_rows_and_one_for_others_and_for_nothing() -> None:
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    expected = [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]]
    np.testing.assert_allclose(cosine_distance(rows), expected, atol=1e-12)


def test_groups_are_turned_so_that_close_ends_meet() -> None:
    places = np.array([0.0, 1.0, 1.1, 5.0])
    distance = np.abs(places[:, None] - places[None, :])
    joined = join_smoothly([1, 0], [2, 3], distance)
    assert abs(joined.index(1) - joined.index(2)) == 1


def test_columns_follow_the_rows() -> None:
    rows = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]], dtype=float)
    assert order_columns(rows) == [2, 1, 0, 3]
