from __future__ import annotations

import numpy as np
import pytest

from itransf.interpret.measures.findings import (
    draw_weights,
    find_error,
    find_interval,
    find_nothing,
    make_finding,
    mix_runs,
)


def test_a_finding_has_mean_interval_and_chance() -> None:
    resampled = np.linspace(0.0, 1.0, 101)[:, None] + np.array([[0.0]])
    null = np.array([0.1, 0.2, 0.7, 0.9])
    found = make_finding("m", "s", [0.7], resampled, null, (3, "things"), "why")
    assert (found.value, found.n, found.counted, found.runs, found.remark) == (0.7, 3, "things", (0.7,), "why")
    assert (found.low, found.high) == pytest.approx((0.025, 0.975))
    assert found.null == pytest.approx(0.475)
    assert found.p == pytest.approx((1 + 2) / 5)
    assert found.key == ("m", "s")
    assert found.to_dict()["runs"] == [0.7]


def test_without_a_null_there_is_no_chance() -> None:
    found = make_finding("m", "s", [1.0, 0.0], np.ones((5, 2)), None, (3, "things"))
    assert (found.value, found.null, found.p) == (0.5, None, None)
    assert find_nothing("m", "s", "no data").value is None


def test_runs_are_resampled_too() -> None:
    means = mix_runs(np.tile([0.0, 1.0], (4000, 1)))
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
