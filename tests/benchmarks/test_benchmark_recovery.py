from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from benchmarks.recovery import list_true, match_best, measure_recovery
from hypothesis import given, settings
from hypothesis import strategies as st

from interpret.measures.readings import make_reading, sure
from itransf.data.planted import plant

DRAWS = 200


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


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(0, 2), st.integers(0, 2**16))
def test_the_best_matching_is_the_best_of_all(rows: int, more: int, seed: int) -> None:
    gains = np.random.default_rng(seed).integers(0, 6, (rows, rows + more)).astype(float)
    chosen = match_best(gains)
    assert len(set(chosen.tolist())) == rows
    every = permutations(range(rows + more), rows)
    best = max(sum(gains[row, column] for row, column in enumerate(columns)) for columns in every)
    assert gains[np.arange(rows), chosen].sum() == best
