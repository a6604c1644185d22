from __future__ import annotations

import numpy as np
import pytest

from experiments.reproduction.conftest import make_record
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.summaries import (
    Interval,
    Summary,
    compare_replicates,
    draw_seeds,
    find_interval,
    format_interval,
    format_metric,
    format_spread,
    summarise,
)

RNG = np.random.default_rng(0)


def make_summary(*ranks: float, hits: float = 0.5) -> Summary:
    jobs = (Scope().make_job("wn18/itransf", seed=seed) for seed in range(len(ranks)))
    found = summarise([make_record(job, mr=mr, hits=hits) for job, mr in zip(jobs, ranks, strict=True)])
    assert found is not None
    return found


def test_the_median_and_the_extremes_of_seeds() -> None:
    summary = make_summary(207.0, 203.0, 212.0)
    assert (summary.median("mr"), summary.spread("mr")) == (207.0, (203.0, 212.0))
    assert format_spread(summary, "mr") == "207 (203–212)"
    assert format_spread(make_summary(65.04), "mr") == "65.0"
    assert summarise([]) is None


def test_figures_are_written_as_papers_do() -> None:
    figures = {"hits@10": 0.9417, "mrr": 0.6364, "mr": 1261.2}
    assert [format_metric(value, metric) for metric, value in figures.items()] == ["94.2", "0.636", "1,261"]
    assert format_interval(Interval(0.9, 0.95), "hits@10") == "90.0–95.0"


def test_an_interval_holds_the_middle_of_the_replicates() -> None:
    found = find_interval(np.arange(1001.0))
    assert (found.low, found.high) == (25.0, 975.0)
    assert not found.holds_zero
    assert Interval(-1.0, 0.0).holds_zero


def test_the_interval_of_the_median_is_taken_replicate_by_replicate() -> None:
    summary = make_summary(100.0, 104.0, 90.0)
    table = [record["bootstrap"]["mr"] for record in summary.records]
    medians = sorted(sorted(column)[1] for column in zip(*table, strict=True))
    interval = summary.interval("mr")
    assert medians[24] <= interval.low <= medians[26]
    assert medians[973] <= interval.high <= medians[975]


def test_a_paired_difference_is_narrower_than_either_interval() -> None:
    first, second = make_summary(100.0), make_summary(102.0)
    difference = first.compare(second, "mr")
    assert difference.value == -2.0
    own = first.interval("mr")
    assert difference.interval.high - difference.interval.low < 0.2 * (own.high - own.low)
    assert not difference.interval.holds_zero


def test_seeds_that_differ_widen_a_difference() -> None:
    steady, shaky = make_summary(100.0, 100.0, 100.0), make_summary(90.0, 100.5, 120.0)
    interval = shaky.compare(steady, "mr").interval
    assert interval.low < -8
    assert interval.high > 18


def test_drawing_seeds_is_the_median_of_a_draw_with_replacement() -> None:
    table = RNG.normal(size=(3, 4000))
    drawn = draw_seeds(table, 0)
    places = np.random.default_rng(0).integers(3, size=(3, 4000))
    slow = [float(np.median([table[places[row, column], column] for row in range(3)])) for column in range(4000)]
    assert drawn.tolist() == slow
    kept = np.median(table, axis=0) == drawn
    assert np.mean(kept) == pytest.approx(13 / 27, abs=0.03)
    assert draw_seeds(table[:1], 3).tolist() == table[0].tolist()


def test_both_rows_draw_their_own_seeds() -> None:
    table = np.array([[0.0] * 1000, [10.0] * 1000])
    interval = compare_replicates(table, table)
    assert (interval.low, interval.high) == (-10.0, 10.0)
