"""Stability: whether other seeds put the same relation sides together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from itransf.interpret.measures.findings import DRAWS, Finding, draw_weights, find_nothing, make_finding
from itransf.interpret.measures.readings import Reading, find_top
from itransf.interpret.measures.statistics import compare_groupings

MEASURE, STATISTIC = "stability over seeds", "adjusted Rand index"


def measure_stability(readings: Sequence[Reading], groups: int, draws: int = DRAWS) -> Finding:
    """Return how alike the groupings of relation sides by their heaviest concept are from seed to seed.

    The adjusted Rand index of two groupings is (pairs of sides together in both - expected) / (most - expected); the
    value is its mean over all pairs of runs. The interval is over runs (resamplings with a single run are left out);
    the null shuffles the sides of one of each two runs.
    """
    if len(readings) < 2:
        return find_nothing(MEASURE, STATISTIC, "one run alone; give runs of other seeds")
    rng = np.random.default_rng(0)
    tops = [find_top(reading, groups).reshape(-1) for reading in readings]
    count = len(tops)
    indexes = np.eye(count)
    for left, right in combinations(range(count), 2):
        indexes[left, right] = indexes[right, left] = compare_groupings(tops[left], tops[right])
    pairs = list(combinations(range(count), 2))
    values = [indexes[pair] for pair in pairs]
    shuffles = [rng.permutation(len(tops[0])) for _ in range(draws)]
    null = np.array(
        [np.mean([compare_groupings(tops[left], tops[right][order]) for left, right in pairs]) for order in shuffles]
    )
    resampled = _resample(indexes, draws, rng)[:, None]
    return make_finding(MEASURE, STATISTIC, values, resampled, null, (len(pairs), "pairs of runs"))


def _resample(
    indexes: np.ndarray[tuple[int, int], np.dtype[np.float64]], draws: int, rng: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the mean index over pairs of distinct runs, for runs drawn with replacement."""
    weights = draw_weights(len(indexes), draws, rng)
    weights = weights[(weights > 0).sum(axis=1) > 1]
    both = np.einsum("bi,bj,ij->b", weights, weights, indexes) - np.einsum("bi,bi,ii->b", weights, weights, indexes)
    pairs = weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1)
    return np.asarray(both / pairs)
