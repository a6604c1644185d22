"""Average linkage beside the slow way."""

import numpy as np
import numpy.typing as npt
import pytest

from itransf.interpret.clustering import cosine_distance, cut_groups, join_groups, order_leaves


def merge_naively(distance: npt.NDArray[np.float64], count: int = 1) -> list[list[int]]:
    """Join the two groups with the smallest mean distance, computed again each time, until `count` are left."""
    groups = [[number] for number in range(len(distance))]
    while len(groups) > count:
        pairs = [(left, right) for left in range(len(groups)) for right in range(left + 1, len(groups))]
        means = [float(np.mean([distance[a, b] for a in groups[x] for b in groups[y]])) for x, y in pairs]
        left, right = pairs[int(np.argmin(means))]
        groups[left] = join_groups(groups[left], groups[right], distance)
        del groups[right]
    return groups


@pytest.mark.parametrize("seed", range(8))
def test_merging_equals_average_linkage_done_slowly(seed: int) -> None:
    distance = cosine_distance(np.random.default_rng(seed).uniform(0, 1, (9, 4)))
    assert order_leaves(distance) == merge_naively(distance)[0]
    for count in (1, 2, 4, 8, 9):
        groups = cut_groups(distance, count)
        found = {frozenset(np.flatnonzero(groups == group).tolist()) for group in range(count)}
        assert found == {frozenset(group) for group in merge_naively(distance, count)}


def test_cosine_distance_is_zero_for_parallel_rows_and_one_for_others_and_for_nothing() -> None:
    rows = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    expected = [[0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]]
    np.testing.assert_allclose(cosine_distance(rows), expected, atol=1e-12)


def test_groups_are_turned_so_that_close_ends_meet() -> None:
    places = np.array([0.0, 1.0, 1.1, 5.0])
    distance = np.abs(places[:, None] - places[None, :])
    joined = join_groups([1, 0], [2, 3], distance)
    assert abs(joined.index(1) - joined.index(2)) == 1


def test_no_more_groups_than_rows() -> None:
    assert cut_groups(np.ones((2, 2)), 5).tolist() == [0, 1]
    assert cut_groups(np.zeros((0, 0)), 1).tolist() == []
