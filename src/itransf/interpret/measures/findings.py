"""What a measurement found: a value, how sure it is, and what chance alone would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
DRAWS = 2000
"""Resamplings behind an interval, and permutations behind a null; with these the smallest p is 1 / 2001."""
FEWEST_DRAWS, MOST_DRAWS = 20, 100_000
"""Fewer say nothing, and what is drawn lies in memory all at once."""


@dataclass(frozen=True)
class Finding:
    """One figure about one model, or about several runs of it that differ by their seed.

    Attributes:
        measure: What is looked at, such as "inverse pairs".
        statistic: What the value is, such as "average precision".
        value: The mean over the runs; None where there is nothing to measure, and `remark` says why.
        low: Where the 95 % interval begins: the 2.5th percentile over resamplings of what is counted and of the runs.
        high: Where it ends.
        null: The mean of the value under random permutations; None where there is no such thing.
        p: How often a permutation does as well: (1 + as many) / (1 + all).
        n: How many things the value is made of.
        counted: What these things are.
        runs: The value of each run.
        remark: What a reader should know.
    """

    measure: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    null: float | None
    p: float | None
    n: int
    counted: str
    runs: tuple[float, ...] = ()
    remark: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What the same figure of another model is found by."""
        return self.measure, self.statistic

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {**asdict(self), "runs": list(self.runs)}


def find_nothing(measure: str, statistic: str, remark: str) -> Finding:
    """Return the finding of a measure that does not apply, saying why."""
    return Finding(measure, statistic, None, None, None, None, None, 0, "", (), remark)


def make_finding(
    measure: str,
    statistic: str,
    values: Sequence[float],
    resampled: Floats,
    null: Floats | None,
    counted: tuple[int, str],
    remark: str = "",
) -> Finding:
    """Put a finding together.

    Args:
        measure: What is looked at.
        statistic: What the value is.
        values: One per run.
        resampled: The values of the runs (last axis) under each resampling of what is counted, (draws, runs).
        null: The mean over runs under each permutation, (draws,).
        counted: How many things, and what they are.
        remark: What a reader should know.
    """
    value = float(np.mean(values))
    low, high = find_interval(mix_runs(resampled))
    chance = None if null is None else float(null.mean())
    p = None if null is None else find_chance(value, null)
    return Finding(measure, statistic, value, low, high, chance, p, *counted, tuple(map(float, values)), remark)


def mix_runs(resampled: Floats, seed: int = 0) -> Floats:
    """Return the mean over runs under each resampling (draws, runs), the runs being drawn with replacement too."""
    draws, runs = resampled.shape
    chosen = np.random.default_rng(seed).integers(0, runs, (draws, runs))
    return np.asarray(np.take_along_axis(resampled, chosen, axis=1).mean(axis=1))


def find_interval(values: Floats) -> tuple[float, float]:
    """Return the middle 95 % of values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def find_error(without: Floats) -> float:
    """Return the jackknife's standard error of a value, from the values without each of its things in turn, (n,)."""
    return float(np.sqrt((len(without) - 1) * without.var()))


def find_chance(value: float, null: Floats) -> float:
    """Return p: how often a permutation does at least as well, the measured order counting as one of them."""
    # Permutations that differ by rounding alone do as well.
    return float((1 + (null >= value - 1e-12).sum()) / (1 + len(null)))


def draw_weights(count: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return how often each of `count` things is drawn when as many are drawn with replacement, (draws, count)."""
    return rng.multinomial(count, np.full(count, 1.0 / count), size=draws).astype(np.float64)
