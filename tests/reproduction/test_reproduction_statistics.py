from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reproduction.experiments import Row
from reproduction.statistics import (
    FREQUENT,
    RAREST,
    REPLICATES,
    SEED,
    Difference,
    RelationHits,
    Sample,
    format_difference,
    format_interval,
    format_metric,
    format_sample,
    read_relations,
    read_sample,
    resample_means,
    resample_relations,
    resample_triples,
)

from itransf.evaluation import Ranks
from reproduction import statistics

TRIPLES = 40
Make = Callable[..., dict[str, Any]]


def make_ranks(seed: int, triples: int = TRIPLES) -> Ranks:
    generator = np.random.default_rng(seed)
    above = generator.integers(0, 30, size=(2, 2, triples))
    tied = generator.integers(0, 3, size=(2, 2, triples))
    return Ranks(np.zeros((triples, 3), dtype=np.int64), above, tied, np.full((2, 2, triples), 99))


def test_replicates_equal_a_slow_loop() -> None:
    ranks = make_ranks(1)
    found = resample_triples(ranks, 20)
    heads, tails = ranks.ranks("head").tolist(), ranks.ranks("tail").tolist()
    generator = np.random.default_rng(SEED)
    for mean_rank, hits in zip(found["mr"].tolist(), found["hits@10"].tolist(), strict=True):
        drawn = [int(place) for place in generator.integers(TRIPLES, size=TRIPLES)]
        answers = [rank for place in drawn for rank in (heads[place], tails[place])]
        assert mean_rank == pytest.approx(sum(answers) / len(answers))
        assert hits == pytest.approx(sum(rank <= 10 for rank in answers) / len(answers))


def test_replicates_do_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = resample_triples(make_ranks(1), 30)
    monkeypatch.setattr(statistics, "_AT_ONCE", 7 * TRIPLES)
    for metric, values in resample_triples(make_ranks(1), 30).items():
        np.testing.assert_allclose(values, whole[metric])


def test_two_runs_are_resampled_alike() -> None:
    first, second = make_ranks(1), make_ranks(1)
    second.above[...] += 5  # every rank is five places worse, whichever triples are drawn
    apart = resample_triples(second)["mr"] - resample_triples(first)["mr"]
    assert len(apart) == REPLICATES
    np.testing.assert_allclose(apart, 5.0)


def test_a_paired_difference_is_the_difference_on_the_drawn_triples() -> None:
    first, second = make_ranks(1), make_ranks(2)
    apart = resample_triples(first, 50)["mr"] - resample_triples(second, 50)["mr"]
    by_triple = sum((first.ranks(side) - second.ranks(side)) / 2 for side in ("head", "tail"))
    expected = resample_means(np.asarray(by_triple)[:, None], 50, np.random.default_rng(SEED))[:, 0]
    np.testing.assert_allclose(apart, expected)


def test_replicates_spread_as_theory_says() -> None:
    ranks = make_ranks(3, triples=500)
    by_triple = (ranks.ranks("head") + ranks.ranks("tail")) / 2
    replicates = resample_triples(ranks)["mr"]
    assert replicates.mean() == pytest.approx(by_triple.mean(), abs=0.1)
    assert replicates.std() == pytest.approx(by_triple.std() / 500**0.5, rel=0.1)


def test_triples_are_drawn_within_each_relation() -> None:
    values = [np.array([0.0, 1.0, 1.0]), np.array([0.5]), np.array([1.0, 0.0])]
    columns = resample_relations([np.stack([own, 2 * own], axis=1) for own in values], 25)
    assert columns.shape == (3, 25, 2)
    np.testing.assert_array_equal(2 * columns[..., 0], columns[..., 1])  # columns share the draws
    found = columns[..., 0]
    for place, own in enumerate(values):
        generator = np.random.default_rng([SEED, place])
        for replicate in found[place].tolist():
            drawn = [own[int(triple)] for triple in generator.integers(len(own), size=len(own))]
            assert replicate == pytest.approx(sum(drawn) / len(own))
    assert found[1].tolist() == [0.5] * 25


def test_relations_are_drawn_apart_from_each_other() -> None:
    own = np.arange(10.0)[:, None]
    first, second = resample_relations([own, own], 200)
    assert abs(np.corrcoef(first[:, 0], second[:, 0])[0, 1]) < 0.2
    np.testing.assert_array_equal(resample_relations([own], 200)[0], first)  # what follows changes nothing


def sample(make: Make, *ranks: float) -> Sample:
    job = Row("", "wn18/itransf").make_job()
    return read_sample([make(replace(job, seed=seed), mr=mr) for seed, mr in enumerate(ranks)], "mr")


def test_a_sample_is_the_median_and_the_extremes_of_seeds(make: Make) -> None:
    assert format_sample(sample(make, 207.0, 203.0, 212.0), "mr") == "207 (203–212)"
    assert format_sample(sample(make, 65.04), "mr") == "65.0"
    assert format_sample(sample(make, 100.0, 100.0, 106.0), "mr", mean=True) == "102 (100–106)"


def test_the_interval_of_the_median_is_taken_replicate_by_replicate(make: Make) -> None:
    found = sample(make, 100.0, 104.0, 90.0)
    medians = sorted(sorted(column)[1] for column in found.replicates.T.tolist())
    low, high = found.interval
    assert medians[24] <= low <= medians[26]
    assert medians[973] <= high <= medians[975]
    assert format_interval(found, "mr") == f"{format_metric(low, 'mr')}–{format_metric(high, 'mr')}"


def test_a_paired_difference_is_narrower_than_either_interval(make: Make) -> None:
    first, second = sample(make, 100.0), sample(make, 102.0)
    difference = first.compare(second)
    low, high = first.interval
    assert difference.value == -2.0
    assert difference.high - difference.low < 0.2 * (high - low)
    assert not difference.is_noise
    assert difference.shift(2.0).is_noise


def test_seeds_that_differ_widen_a_difference(make: Make) -> None:
    difference = sample(make, 90.0, 100.5, 120.0).compare(sample(make, 100.0, 100.0, 100.0))
    assert difference.low < -8
    assert difference.high > 18


def test_both_rows_draw_their_own_seeds() -> None:
    table = Sample(np.array([0.0, 10.0]), np.array([[0.0] * 1000, [10.0] * 1000]))
    difference = table.compare(table)
    assert (difference.low, difference.high) == (-10.0, 10.0)


def relations(make: Make, hits: float, rare_hits: float, seeds: int = 1) -> RelationHits:
    job = Row("", "wn18/itransf").make_job()
    return read_relations([make(replace(job, seed=seed), hits=hits, rare_hits=rare_hits) for seed in range(seeds)])


def test_buckets_are_chosen_and_their_smallest_relation_can_be_left_out(make: Make) -> None:
    hits = relations(make, 0.5, 1.0)
    assert hits.choose_bucket(FREQUENT).tolist() == [True, False, False, False]
    assert hits.choose_bucket(RAREST).tolist() == [False, False, True, True]
    assert hits.choose_bucket(RAREST, whole=False).tolist() == [False, False, True, False]


def test_every_relation_of_a_bucket_counts_the_same(make: Make) -> None:
    hits = relations(make, 0.5, 0.8)
    average = hits.average(hits.choose_bucket(RAREST))
    assert average.median == pytest.approx((24 / 30 + 2 / 3) / 2)  # 24 of 30 triples, 2 of 3
    assert average.replicates.shape == (1, 1000)


def test_macro_averages_are_samples_of_their_own(make: Make) -> None:
    job = Row("", "wn18/itransf").make_job()
    low, high = [make(job, hits=0.5, rare_hits=0.4)], [make(job, hits=0.6, rare_hits=0.9)]
    gain = read_sample(high, "rarest").compare(read_sample(low, "rarest"))
    assert gain.value == pytest.approx((0.9 + 1.0 - 0.4 - 1 / 3) / 2)
    assert not gain.is_noise
    assert read_sample(high, "gap").compare(read_sample(low, "gap")).value == pytest.approx(gain.value - 0.1)
    assert read_sample(high, "rarest_but_one").median == pytest.approx(0.9)
    same = read_sample(low, "rarest").compare(read_sample(low, "rarest"))
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


def test_figures_are_written_as_papers_do() -> None:
    figures = {"hits@10": 0.9417, "mrr": 0.6364, "mr": 1261.2, "overlap": 0.5}
    assert [format_metric(value, metric) for metric, value in figures.items()] == ["94.2", "0.636", "1,261", "0.50"]
    assert format_difference(Difference(-0.0123, -0.02, 0.001), "hits@10") == "-1.23 (-2.00, +0.10)"
    assert format_difference(Difference(12.34, -1.0, 1000.0), "mr") == "+12.3 (-1.0, +1,000.0)"
    assert format_difference(Difference(-0.00125, -0.002, 0.0), "seconds") == "-0.00125 (-0.002, +0)"
