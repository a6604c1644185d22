from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.interpret.measures.structure import (
    area_under_curve,
    average_precision,
    compare_groupings,
    correlate_ranks,
    draw_weights,
    find_error,
    find_interval,
    make_finding,
    measure_purity,
    rank_evenly,
    report_missing,
    resample_runs,
    share_information,
)

SEEDS = st.integers(0, 2**32 - 1)


def draw_scores(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 4, count) / 4.0  # few values: many ties


def precision_slowly(positive: list[float], negative: list[float]) -> float:
    total = 0.0
    for score in positive:
        found = sum(other >= score for other in positive)
        total += found / (found + sum(other >= score for other in negative))
    return total / len(positive)


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(0, 8), SEEDS)
def test_average_precision_equals_its_definition(wanted: int, others: int, seed: int) -> None:
    positive, negative = draw_scores(seed, wanted), draw_scores(seed + 1, others)
    everything = np.sort(np.concatenate([positive, negative]))
    weights = np.random.default_rng(seed).integers(0, 3, (4, wanted)).astype(float) + np.eye(4, wanted)
    weights[0] = 1.0
    weights = weights[weights.sum(1) > 0]
    found = average_precision(positive, everything, weights)
    for value, counts in zip(found, weights, strict=True):
        repeated = np.repeat(positive, counts.astype(int)).tolist()
        assert value == pytest.approx(precision_slowly(repeated, negative.tolist()))


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 8), SEEDS)
def test_area_equals_its_definition(wanted: int, others: int, seed: int) -> None:
    positive, negative = draw_scores(seed, wanted), draw_scores(seed + 1, others)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 3, (2, wanted)).astype(float), rng.integers(1, 3, (2, others)).astype(float)
    for draw, value in enumerate(area_under_curve(positive, negative, weights)):
        pairs = [
            (weights[0][draw, i] * weights[1][draw, j], 1.0 if p > n else 0.5 if p == n else 0.0)
            for i, p in enumerate(positive)
            for j, n in enumerate(negative)
        ]
        assert value == pytest.approx(sum(w * x for w, x in pairs) / sum(w for w, _ in pairs))


def test_equal_values_share_their_ranks() -> None:
    assert rank_evenly(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]


def test_rank_correlation_of_known_orders() -> None:
    rising = np.array([1.0, 2.0, 3.0, 4.0])
    assert correlate_ranks(rising, np.exp(rising)) == pytest.approx(1.0)
    assert correlate_ranks(rising, -rising) == pytest.approx(-1.0)
    assert correlate_ranks(rising, np.array([1.0, 2.0, 4.0, 3.0])) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert correlate_ranks(rising, np.ones(4)) == 0.0


def rand_slowly(left: np.ndarray, right: np.ndarray) -> float:
    pairs = list(combinations(range(len(left)), 2))
    together = [(left[i] == left[j], right[i] == right[j]) for i, j in pairs]
    both, lefts, rights = (sum(found) for found in ([a and b for a, b in together], *zip(*together, strict=True)))
    expected, most = lefts * rights / len(pairs), (lefts + rights) / 2
    return float((both - expected) / (most - expected)) if most != expected else 1.0


@settings(deadline=None)
@given(st.integers(2, 9), SEEDS)
def test_the_adjusted_rand_index_equals_counting_pairs(count: int, seed: int) -> None:
    left, right = np.random.default_rng(seed).integers(0, 3, (2, count))
    assert compare_groupings(left, right) == pytest.approx(rand_slowly(left, right))
    assert compare_groupings(left, (left + 1) % 3) == pytest.approx(1.0)


def test_purity_and_information_by_hand() -> None:
    groups, labels = np.array([0, 0, 0, 1, 1, 2]), np.array([5, 5, 1, 1, 1, 5])
    assert measure_purity(groups, labels) == pytest.approx((2 + 2 + 1) / 6)
    of_groups = -(3 / 6 * np.log(3 / 6) + 2 / 6 * np.log(2 / 6) + 1 / 6 * np.log(1 / 6))
    of_labels = np.log(2)
    joint = -(2 * 2 / 6 * np.log(2 / 6) + 2 * 1 / 6 * np.log(1 / 6))
    wanted = (of_groups + of_labels - joint) / ((of_groups + of_labels) / 2)
    assert share_information(groups, labels) == pytest.approx(wanted)
    assert share_information(groups, groups) == pytest.approx(1.0)
    assert share_information(np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.int64)) == 0.0


def test_a_finding_has_mean_interval_and_chance() -> None:
    resampled = np.linspace(0.0, 1.0, 101)
    null = np.array([0.1, 0.2, 0.7, 0.9])
    found = make_finding("m", "s", [(0.7, resampled, null)], (3, "things"), "why")
    assert (found.value, found.n, found.counted, found.runs, found.remark) == (0.7, 3, "things", (0.7,), "why")
    assert (found.low, found.high) == pytest.approx((0.025, 0.975))
    assert found.null == pytest.approx(0.475)
    assert found.p == pytest.approx((1 + 2) / 5)
    assert found.name == "m, s"
    assert found.to_dict()["runs"] == (0.7,)


def test_without_a_null_there_is_no_chance() -> None:
    found = make_finding("m", "s", [(1.0, np.ones(5), None), (0.0, np.ones(5), None)], (3, "things"))
    assert (found.value, found.null, found.p) == (0.5, None, None)
    assert report_missing("m", "s", "no data").value is None


def test_runs_are_resampled_too() -> None:
    means = resample_runs(np.tile([0.0, 1.0], (4000, 1)))
    assert set(means.tolist()) == {0.0, 0.5, 1.0}
    assert means.mean() == pytest.approx(0.5, abs=0.03)
    assert find_interval(means) == (0.0, 1.0)


def test_weights_are_draws_with_replacement() -> None:
    weights = draw_weights(4, 50, np.random.default_rng(0))
    assert weights.shape == (50, 4)
    assert (weights.sum(1) == 4).all()
    assert len(np.unique(weights, axis=0)) > 5


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    without = (values.sum() - values) / 3
    assert find_error(without) == pytest.approx(values.std(ddof=1) / 2)
