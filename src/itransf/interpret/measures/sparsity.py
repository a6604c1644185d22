"""Sparsity: whether every relation side keeps to k concepts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from itransf.interpret.measures.findings import DRAWS, Finding, Floats, draw_weights, find_nothing, make_finding
from itransf.interpret.measures.readings import Reading

MEASURE = "sparse attention"
ROUNDING = 1e-4  # what single precision may add to a sum of weights


def measure_sparsity(readings: Sequence[Reading], most: int, draws: int = DRAWS) -> Finding:
    """Return the share of relation sides with at most `most` non-zero weights, none negative, that sum to one.

    share = |{(s, r): |{i: a[s, r, i] != 0}| <= k, a >= 0, |sum_i a[s, r, i] - 1| <= 1e-4}| / 2 |R|.
    The interval is over relation sides and runs; there is no null: it is a property, not a discovery.
    """
    statistic = f"at most {most} weight{'s' * (most != 1)}, sum 1"
    if any(reading.weights is None for reading in readings):
        return find_nothing(MEASURE, statistic, "there are no concepts")
    kept = np.stack([find_sparse(reading, most) for reading in readings])  # (runs, sides)
    drawn = draw_weights(kept.shape[1], draws, np.random.default_rng(0))
    resampled = drawn @ kept.T / kept.shape[1]  # (draws, runs)
    return make_finding(
        MEASURE, statistic, kept.mean(axis=1).tolist(), resampled, None, (kept.shape[1], "relation sides")
    )


def find_sparse(reading: Reading, most: int) -> Floats:
    """Return 1.0 for each relation side, heads then tails, that keeps to the rule, (2 r,)."""
    assert reading.weights is not None, "only concepts have weights"
    weights = reading.weights.astype(np.float64)
    few = (weights != 0).sum(axis=2) <= most
    whole = (np.abs(weights.sum(axis=2) - 1) <= ROUNDING) & (weights >= 0).all(axis=2)
    return np.asarray((few & whole).astype(np.float64).reshape(-1))
