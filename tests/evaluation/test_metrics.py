from __future__ import annotations

import math

import numpy as np
import pytest

from itransf.evaluation.metrics import METRICS, summarise


def test_metrics_by_hand() -> None:
    ranks, rivals = np.array([1.0, 2.0, 4.0, 11.0]), np.array([10, 10, 20, 20])
    found = summarise(ranks, rivals)
    assert found["mr"] == pytest.approx(4.5)
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 11) / 4)
    assert (found["hits@1"], found["hits@3"], found["hits@10"]) == pytest.approx((0.25, 0.5, 0.75))
    assert found["queries"] == 4
    # A guess would stand (5 + 5 + 10 + 10) / 4 places below the first.
    assert found["amri"] == pytest.approx(1 - 3.5 / 7.5)
    assert list(found) == [*METRICS, "queries"]


def test_a_tie_for_the_first_place_is_no_hit_at_one() -> None:
    assert summarise(np.array([1.5]), np.array([9]))["hits@1"] == 0.0


def test_the_adjusted_index_is_one_for_the_perfect_and_zero_for_a_guess() -> None:
    rivals = np.full(20_000, 50)
    assert summarise(np.ones(20_000), rivals)["amri"] == pytest.approx(1.0)
    guesses = np.random.default_rng(0).integers(1, 52, 20_000).astype(float)
    assert summarise(guesses, rivals)["amri"] == pytest.approx(0.0, abs=0.02)
    assert summarise(np.full(20_000, 26.0), rivals)["amri"] == pytest.approx(0.0)  # all tied, realistic
    assert summarise(np.full(20_000, 51.0), rivals)["amri"] == pytest.approx(-1.0)


def test_weights_say_how_much_a_query_counts() -> None:
    ranks, rivals = np.array([1.0, 4.0]), np.array([10, 10])
    found = summarise(ranks, rivals, np.array([3.0, 1.0]))
    assert found["mr"] == pytest.approx(1.75)
    assert found["hits@1"] == pytest.approx(0.75)
    assert found["queries"] == 2


def test_no_queries_have_no_metrics() -> None:
    found = summarise(np.zeros(0), np.zeros(0, dtype=np.int64))
    assert found["queries"] == 0
    assert all(math.isnan(found[metric]) for metric in METRICS)


def test_without_rivals_there_is_no_index() -> None:
    assert math.isnan(summarise(np.ones(2), np.zeros(2, dtype=np.int64))["amri"])
