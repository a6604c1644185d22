"""Measures that look at attention alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from interpret.measures.making import make_reading, sure
from itransf.data.graph import Graph
from itransf.data.planted import plant
from itransf.interpret.measures import (
    Gold,
    Reading,
    draw_random,
    measure_domains,
    measure_inverses,
    measure_recovery,
    measure_sparsity,
    measure_stability,
    measure_symmetry,
)
from itransf.interpret.measures.recovery import list_true

DRAWS = 200
COUNT = 12  # relations: pairs (0, 1), (2, 3), (4, 5); 6 and 7 symmetric


@pytest.fixture(scope="module")
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=15, relations=COUNT, train=150)


@pytest.fixture(scope="module")
def gold() -> Gold:
    symmetric = np.isin(np.arange(COUNT), (6, 7))
    return Gold(np.array([[0, 1], [3, 2], [4, 5]]), symmetric, np.arange(COUNT) // 4)


@pytest.fixture(scope="module")
def mirrored(graph: Graph) -> Reading:
    """Every side has a concept of its own, but for mirrors and symmetric relations."""
    tops = np.arange(2 * COUNT).reshape(2, COUNT)
    for left, right in ((0, 1), (2, 3), (4, 5)):
        tops[:, right] = tops[::-1, left]
    tops[1, [6, 7]] = tops[0, [6, 7]]
    return make_reading(graph, np.eye(2 * COUNT)[tops])


def test_sparsity_counts_sides_that_keep_to_k(graph: Graph) -> None:
    weights = np.zeros((2, COUNT, 4))
    weights[:, :, 0], weights[:, :, 1] = 0.75, 0.25
    whole = make_reading(graph, weights)
    assert measure_sparsity([whole], 2, DRAWS).value == 1.0
    assert measure_sparsity([whole], 1, DRAWS).value == 0.0
    weights[0, 0, 0] = 0.5  # does not sum to one
    weights[1, 1] = (1.5, -0.5, 0.0, 0.0)
    found = measure_sparsity([whole, make_reading(graph, weights)], 2, DRAWS)
    assert found.runs == pytest.approx((1.0, 22 / 24))
    assert sure(found.low) < 1.0
    assert (found.n, found.p) == (24, None)
    assert measure_sparsity([replace(whole, weights=None)], 2, DRAWS).value is None


def test_mirrored_attention_is_found(mirrored: Reading, gold: Gold) -> None:
    found = measure_inverses([mirrored], gold, DRAWS)
    assert (found.value, found.low, found.high, found.n) == (1.0, 1.0, 1.0, 3)
    assert found.p == pytest.approx(1 / (DRAWS + 1))
    assert sure(found.null) < 0.3
    chance = measure_inverses([draw_random(mirrored, seed) for seed in range(5)], gold, DRAWS)
    assert sure(chance.p) > 0.05


def test_straight_copies_are_no_mirrors(graph: Graph, gold: Gold) -> None:
    tops = np.arange(2 * COUNT).reshape(2, COUNT)
    tops[:, [1, 3, 5]] = tops[:, [0, 2, 4]]
    found = measure_inverses([make_reading(graph, np.eye(2 * COUNT)[tops])], gold, DRAWS)
    assert sure(found.value) < 0.2


def test_equal_ends_are_found(mirrored: Reading, gold: Gold) -> None:
    found = measure_symmetry([mirrored], gold, DRAWS)
    assert (found.value, found.n, found.counted) == (1.0, 2, "symmetric of 12 relations")
    assert found.null == pytest.approx(0.5, abs=0.1)
    assert found.p == pytest.approx(1 / 66, abs=0.02)  # 66 ways to choose 2 of 12
    flat = measure_symmetry([replace(mirrored, sides=np.ones_like(mirrored.sides))], gold, DRAWS)
    assert (flat.value, flat.p) == (0.5, 1.0)


def test_without_gold_there_is_nothing_to_find(mirrored: Reading) -> None:
    nothing = Gold(np.zeros((0, 2), dtype=np.int64), np.zeros(COUNT, dtype=np.bool_), None)
    assert measure_inverses([mirrored], nothing).value is None
    assert measure_symmetry([mirrored], nothing).value is None
    assert [found.value for found in measure_domains([mirrored], nothing, 3)] == [None, None]


def test_domains_by_top_concept(graph: Graph, gold: Gold) -> None:
    assert gold.domains is not None
    pure = make_reading(graph, np.eye(6)[np.stack([gold.domains, gold.domains + 3])])
    purity, information = measure_domains([pure], gold, 6, DRAWS)
    assert purity.value == 1.0
    assert purity.p == information.p == pytest.approx(1 / (DRAWS + 1))
    assert information.value == pytest.approx(2 * np.log(3) / (np.log(3) + np.log(6)))
    assert sure(purity.null) < 0.8
    for found in measure_domains([draw_random(pure)], gold, 6, DRAWS):
        assert sure(found.p) > 0.05
        assert sure(found.low) < sure(found.value)


def test_stability_over_seeds(mirrored: Reading) -> None:
    assert mirrored.weights is not None
    grouped = np.eye(4, dtype=np.float32)[np.arange(2 * COUNT).reshape(2, COUNT) % 4]
    one = replace(mirrored, weights=grouped)
    renamed = replace(mirrored, weights=grouped[:, :, ::-1])
    same = measure_stability([one, renamed, one], 4, DRAWS)
    assert (same.value, same.n) == (1.0, 3)
    assert same.null == pytest.approx(0.0, abs=0.05)
    other = replace(one, weights=grouped[:, np.arange(COUNT) // 2])
    mixed = measure_stability([one, renamed, other], 4, DRAWS)
    assert sure(mixed.low) < sure(mixed.value) < 1.0
    assert measure_stability([one], 4).value is None


@pytest.mark.parametrize("size", [1, 2])
def test_planted_supports_are_recovered_under_any_names(size: int) -> None:
    truth = plant(0, entities=40, relations=12, concepts=4, support_size=size, dim=3)
    uses = list_true(truth)
    assert uses.sum() == (truth.geometry.supports >= 0).sum()
    weights = np.zeros((24, 6))
    weights[:, [5, 0, 3, 2]] = uses / uses.sum(axis=1, keepdims=True)
    reading = make_reading(truth.graph, weights.reshape(2, 12, 6))
    found = measure_recovery([reading], [truth], DRAWS)
    assert (found.value, found.high, found.n) == (1.0, 1.0, 24)
    assert sure(found.null) < 0.8
    assert found.p == pytest.approx(1 / (DRAWS // 10 + 1))


def test_what_is_split_or_merged_counts_as_missed() -> None:
    truth = plant(0, entities=40, relations=12, concepts=4, support_size=1, dim=3)
    uses = list_true(truth).astype(float)
    split = np.concatenate([uses, np.zeros((24, 1))], axis=1)
    first = np.flatnonzero(uses[:, 0])
    split[first[0]] = np.eye(5)[4]  # one user of the first concept has a concept of its own
    found = measure_recovery([make_reading(truth.graph, split.reshape(2, 12, 5))], [truth], DRAWS)
    assert found.value == pytest.approx(23 / 24)
    few = np.concatenate([uses[:, :2], uses[:, 2:].sum(axis=1, keepdims=True)], axis=1)
    merged = measure_recovery([make_reading(truth.graph, few.reshape(2, 12, 3))], [truth], DRAWS)
    assert merged.value == pytest.approx(1 - min(uses[:, 2].sum(), uses[:, 3].sum()) / 24)
    assert measure_recovery([replace(make_reading(truth.graph, few.reshape(2, 12, 3)), weights=None)], [truth]).n == 0
