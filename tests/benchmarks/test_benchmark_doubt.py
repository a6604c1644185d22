from __future__ import annotations

import numpy as np
import pytest
from benchmarks.doubt import KINDS, Kind, corrupt, measure_precision

import itransf


@pytest.mark.parametrize("kind", KINDS)
def test_a_share_of_the_triples_becomes_false(kind: Kind) -> None:
    graph = itransf.load("world")
    corrupted, is_false = corrupt(graph, kind, seed=0, share=0.05)
    assert is_false.sum() == round(0.05 * len(graph.train))
    np.testing.assert_array_equal(corrupted.train[~is_false], graph.train[~is_false])
    made, old = corrupted.train[is_false], graph.train[is_false]
    assert not graph.known.contains(made).any()
    assert len(np.unique(made, axis=0)) == len(made)
    assert ((made != old).sum(axis=1) == 1).all()
    statistics = graph.statistics
    fits = [h in statistics.domain(r, "head") and t in statistics.domain(r, "tail") for h, r, t in made.tolist()]
    assert all(fits) == (kind == "typed")
    assert (corrupted.valid != graph.valid).any(axis=1).sum() == round(0.05 * len(graph.valid))


def test_average_precision_by_hand() -> None:
    assert measure_precision(np.array([3.0, 2.0, 1.0]), np.array([True, False, True])) == pytest.approx((1 + 2 / 3) / 2)
