"""Findings with intervals and permutation nulls, and the statistics of rankings and groupings behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from itransf.data.known import Floats, Integers

DRAWS = 2000
"""Resamplings behind an interval, and permutations behind a null; with these the smallest p is 1 / 2001."""
FEWEST_DRAWS, MOST_DRAWS = 20, 100_000
"""Bounds of the number of draws; all draws are held in memory at once."""


@dataclass(frozen=True)
class Finding:
    """One figure about one model, or about several runs of it that differ by their seed.

    Attributes:
        measure: Property that is measured, such as "inverse pairs".
        statistic: The statistic, such as "average precision".
        value: The mean over the runs; None where there is nothing to measure, and `remark` says why.
        low: Lower end of the 95 % bootstrap interval, over resamplings of what is counted and of the runs.
        high: Upper end of the interval.
        null: The mean of the value under random permutations; None where there is no permutation null.
        p: The permutation p-value: (1 + permutations that do as well) / (1 + permutations).
        n: Number of items counted.
        counted: Description of the items.
        runs: The value of each run.
        remark: A note for the reader.
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
    def name(self) -> str:
        """Measure and statistic, which identify the same figure of another model."""
        return f"{self.measure}, {self.statistic}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return asdict(self)


def report_missing(measure: str, statistic: str, reason: str) -> Finding:
    """Return the finding of a measure that does not apply, with the reason."""
    return Finding(measure, statistic, None, None, None, None, None, 0, "", (), reason)


def make_finding(
    measure: str,
    statistic: str,
    values: Sequence[float],
    resampled: Floats,
    null: Floats | None,
    counted: tuple[int, str],
    remark: str = "",
) -> Finding:
    """Summarise the values of runs, their resamplings and their permutations.

    Args:
        measure: Property that is measured.
        statistic: The statistic.
        values: One value per run.
        resampled: The value of each run under each resampling of what is counted, (draws, runs).
        null: The mean over runs under each permutation, (draws,).
        counted: Number and description of the items counted.
        remark: A note for the reader.
    """
    value = float(np.mean(values))
    low, high = find_interval(resample_runs(resampled))
    chance = None if null is None else float(null.mean())
    p = None if null is None else find_p_value(value, null)
    return Finding(measure, statistic, value, low, high, chance, p, *counted, tuple(map(float, values)), remark)


def resample_runs(resampled: Floats) -> Floats:
    """Return the mean over runs drawn with replacement, for each resampling of what is counted (draws, runs)."""
    draws, runs = resampled.shape
    chosen = np.random.default_rng(0).integers(0, runs, (draws, runs))
    return np.asarray(np.take_along_axis(resampled, chosen, axis=1).mean(axis=1))


def find_interval(values: Floats) -> tuple[float, float]:
    """Return the middle 95 % of values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def find_error(without: Floats) -> float:
    """Return the jackknife standard error of a statistic from its leave-one-out values (n,)."""
    return float(np.sqrt((len(without) - 1) * without.var()))


def find_p_value(value: float, null: Floats) -> float:
    """Return the share of permutations that do at least as well, the identity being one of them."""
    # Permutations that differ by rounding alone do as well.
    return float((1 + (null >= value - 1e-12).sum()) / (1 + len(null)))


def draw_weights(count: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return how often each of `count` items is drawn in bootstrap samples of that size, (draws, count)."""
    return rng.multinomial(count, np.full(count, 1.0 / count), size=draws).astype(np.float64)


def average_precision(positive: Floats, everything: Floats, weights: Floats) -> Floats:
    """Return the average precision of positives among all, for each weighting of the positives, (draws,).

    AP = sum_p w_p precision(p) / sum_p w_p, where precision(p) is the share of positives among all that score at
    least as high as p; equal scores are counted together.

    Args:
        positive: Scores of the positives, (p,).
        everything: All scores, those of the positives among them, (n,), ascending.
        weights: The weight of each positive, (draws, p).
    """
    reached = (positive[None, :] >= positive[:, None]).astype(np.float64)  # (p, p): positives at least as high as p
    negatives = len(everything) - np.searchsorted(everything, positive, side="left") - reached.sum(axis=1)  # (p,)
    found = weights @ reached.T  # (draws, p)
    precision = found / np.maximum(found + negatives, 1e-300)  # 0 / 0 where p has no weight and nothing scores above
    return np.asarray((weights * precision).sum(1) / weights.sum(1))


def area_under_curve(positive: Floats, negative: Floats, weights: tuple[Floats, Floats]) -> Floats:
    """Return how often a positive scores above a negative (ties half), for each weighting of both, (draws,).

    Args:
        positive: Scores of the positives, (p,).
        negative: Scores of the negatives, (n,).
        weights: The weights of both, (draws, p) and (draws, n).
    """
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)  # (p, n)
    ours, theirs = weights
    return np.asarray(((ours @ wins) * theirs).sum(1) / (ours.sum(1) * theirs.sum(1)))


def rank_evenly(values: Floats) -> Floats:
    """Return ranks from one, ascending along the last axis; equal values share the mean of their ranks."""
    flat = values.reshape(-1, values.shape[-1])
    ranks = np.empty_like(flat, dtype=np.float64)
    for row, line in zip(ranks, flat, strict=True):
        _, places, counts = np.unique(line, return_inverse=True, return_counts=True)
        row[:] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks.reshape(values.shape)


def correlate_ranks(left: Floats, right: Floats) -> float:
    """Return Spearman's rank correlation; 0 where one side is constant."""
    ranks = [rank_evenly(values) - (len(values) + 1) / 2 for values in (left, right)]
    size = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float((ranks[0] * ranks[1]).sum() / size) if size else 0.0


def count_together(left: Integers, right: Integers) -> Integers:
    """Return the contingency table of two groupings, (groups, groups)."""
    sizes = int(left.max(initial=-1)) + 1, int(right.max(initial=-1)) + 1
    counts = np.bincount(left * sizes[1] + right, minlength=sizes[0] * sizes[1])
    return np.asarray(counts.reshape(sizes))


def measure_purity(groups: Integers, labels: Integers) -> float:
    """Return the share of items whose label is the most frequent one in their group."""
    return float(count_together(groups, labels).max(axis=1).sum() / len(groups))


def share_information(groups: Integers, labels: Integers) -> float:
    """Return the normalised mutual information of two groupings: I(g; l) / ((H(g) + H(l)) / 2)."""
    joint = count_together(groups, labels) / len(groups)
    total = sum(_measure_entropy(joint.sum(axis=axis)) for axis in (1, 0))
    return float(2 * (total - _measure_entropy(joint.reshape(-1))) / total) if total else 0.0


def _measure_entropy(shares: Floats) -> float:
    kept = shares[shares > 0]
    return float(-(kept * np.log(kept)).sum())


def compare_groupings(left: Integers, right: Integers) -> float:
    """Return the adjusted Rand index of two groupings: 1 for equal ones, 0 on average for unrelated ones."""
    counts = count_together(left, right)
    sizes = (counts.reshape(-1), counts.sum(axis=1), counts.sum(axis=0), np.array([len(left)]))
    together, lefts, rights, everything = (float((size * (size - 1)).sum() / 2) for size in sizes)  # pairs
    expected = lefts * rights / everything if everything else 0.0
    most = (lefts + rights) / 2
    return (together - expected) / (most - expected) if most != expected else 1.0
