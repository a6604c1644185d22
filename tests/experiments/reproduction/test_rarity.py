from __future__ import annotations

import numpy as np
import pytest

from experiments.reproduction.conftest import make_record
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.rarity import (
    FREQUENT,
    RAREST,
    MacroHits,
    RelationHits,
    read_hits,
    resample_digits,
)

DIGITS = ("2101", "00222", "21")


def read(hits: float, rare_hits: float, seeds: int = 1) -> RelationHits:
    jobs = (Scope().make_job("wn18/itransf", seed=seed) for seed in range(seeds))
    found = read_hits([make_record(job, hits=hits, rare_hits=rare_hits) for job in jobs])
    assert found is not None
    return found


def test_nothing_stored_is_nothing_read() -> None:
    assert read_hits([]) is None


def test_replicates_are_means_of_the_digits() -> None:
    found = resample_digits(DIGITS)
    assert found.shape == (3, 1000)
    for own, digits in zip(found, DIGITS, strict=True):
        share = np.mean([int(digit) / 2 for digit in digits])
        assert own.mean() == pytest.approx(share, abs=0.03)
        possible = np.arange(2 * len(digits) + 1) / (2 * len(digits))
        assert np.abs(own[:, None] - possible).min(axis=1).max() < 1e-9


def test_buckets_are_chosen_and_their_smallest_relation_can_be_left_out() -> None:
    hits = read(0.5, 1.0)
    assert hits.choose_bucket(FREQUENT).tolist() == [True, False, False, False]
    assert hits.choose_bucket(RAREST).tolist() == [False, False, True, True]
    assert hits.relations[hits.find_smallest(hits.choose_bucket(RAREST))]["relation"] == "_hardly"
    assert hits.choose_without_smallest(RAREST).tolist() == [False, False, True, False]


def test_every_relation_of_a_bucket_counts_the_same() -> None:
    hits = read(0.5, 0.8)
    average = hits.average(hits.choose_bucket(RAREST))
    assert average.median == pytest.approx((24 / 30 + 2 / 3) / 2)  # 24 of 30 triples, 2 of 3
    assert average.replicates.shape == (1, 1000)


def test_a_difference_between_rows_and_a_difference_of_differences() -> None:
    low, high = read(0.5, 0.4), read(0.6, 0.9, seeds=3)
    rarest, frequent = (low.choose_bucket(bucket) for bucket in (RAREST, FREQUENT))
    gain = high.average(rarest).compare(low.average(rarest))
    assert gain.value == pytest.approx((0.9 + 1.0 - 0.4 - 1 / 3) / 2)
    assert not gain.interval.holds_zero
    apart = (high.average(rarest) - high.average(frequent)).compare(low.average(rarest) - low.average(frequent))
    assert apart.value == pytest.approx(gain.value - 0.1)


def test_one_training_lies_between_its_seeds_and_what_triples_do_to_them() -> None:
    replicates = np.array([[0.2] * 1000, [0.4] * 1000, np.linspace(0.5, 0.6, 1000)])
    interval = MacroHits(np.array([0.2, 0.4, 0.55]), replicates).interval
    assert (interval.low, interval.high) == (pytest.approx(0.2), pytest.approx(np.percentile(replicates, 97.5)))
    assert 0.59 < interval.high < 0.6


def test_two_rows_of_the_same_hits_do_not_differ_in_any_replicate() -> None:
    first, second = read(0.5, 0.4), read(0.5, 0.4)
    chosen = first.choose_bucket(RAREST)
    difference = first.average(chosen).compare(second.average(chosen))
    assert (difference.value, difference.interval.low, difference.interval.high) == (0.0, 0.0, 0.0)
