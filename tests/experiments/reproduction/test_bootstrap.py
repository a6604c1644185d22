from __future__ import annotations

import numpy as np
import pytest

from itransf.evaluation import Ranks
from itransf.experiments.reproduction import bootstrap
from itransf.experiments.reproduction.bootstrap import (
    REPLICATES,
    SEED,
    resample_means,
    resample_relations,
    resample_triples,
)

TRIPLES = 40


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
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 7 * TRIPLES)
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
    found = resample_relations(values, 25)
    assert found.shape == (3, 25)
    for place, own in enumerate(values):
        generator = np.random.default_rng([SEED, place])
        for replicate in found[place].tolist():
            drawn = [own[int(triple)] for triple in generator.integers(len(own), size=len(own))]
            assert replicate == pytest.approx(sum(drawn) / len(own))
    assert found[1].tolist() == [0.5] * 25


def test_relations_are_drawn_apart_from_each_other() -> None:
    own = np.arange(10.0)
    first, second = resample_relations([own, own], 200)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.2
    np.testing.assert_array_equal(resample_relations([own], 200)[0], first)  # what follows changes nothing
