"""Several seeds as one figure: median, spread, and an interval over queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from itransf.experiments.reproduction.results import Record

Floats = npt.NDArray[np.float64]
LEVEL = 95.0  # percent of the replicates that lie in an interval


@dataclass(frozen=True)
class Interval:
    """Where 95 % of the replicates lie."""

    low: float
    high: float

    @property
    def holds_zero(self) -> bool:
        """Whether it may be nothing at all."""
        return self.low <= 0.0 <= self.high


@dataclass(frozen=True)
class Difference:
    """How far one figure lies above another, and where 95 % of its replicates lie."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class Summary:
    """The results of one row, one for each seed.

    Attributes:
        records: At least one.
    """

    records: tuple[Record, ...]

    def values(self, metric: str) -> list[float]:
        """Return a metric of each seed."""
        return [record["metrics"][metric] for record in self.records]

    def median(self, metric: str) -> float:
        """Return the median over seeds."""
        return float(np.median(self.values(metric)))

    def spread(self, metric: str) -> tuple[float, float]:
        """Return the lowest and the highest of all seeds."""
        return min(self.values(metric)), max(self.values(metric))

    def replicates(self, metric: str) -> Floats:
        """Return the bootstrap replicates of each seed, (s, b); all seeds rank the same resampled queries."""
        return np.array([record["bootstrap"][metric] for record in self.records])

    def interval(self, metric: str) -> Interval:
        """Return where 95 % of the replicates of the median lie when queries are drawn anew."""
        return find_interval(np.median(self.replicates(metric), axis=0))

    def compare(self, other: Summary, metric: str) -> Difference:
        """Return this median less another, and where that lies when queries and seeds are drawn anew."""
        found = compare_replicates(self.replicates(metric), other.replicates(metric))
        return Difference(self.median(metric) - other.median(metric), found)


def compare_replicates(first: Floats, second: Floats) -> Interval:
    """Return where one median less another lies when queries and seeds are drawn anew.

    Both rank the same queries in the same replicate, so what makes all of them hard or easy cancels.

    Args:
        first: (s, b) replicates of each seed.
        second: (s', b) those of what it is compared with.
    """
    return find_interval(draw_seeds(first, 0) - draw_seeds(second, 1))


def draw_seeds(replicates: Floats, salt: int) -> Floats:
    """Return the median over as many seeds, drawn with replacement, in each replicate, (b,)."""
    seeds, count = replicates.shape
    drawn = np.random.default_rng(salt).integers(seeds, size=(seeds, count))
    return np.asarray(np.median(np.take_along_axis(replicates, drawn, axis=0), axis=0))


def summarise(records: Sequence[Record]) -> Summary | None:
    """Return the summary of some results, None if there are none."""
    return Summary(tuple(records)) if records else None


def find_interval(replicates: Floats) -> Interval:
    """Return where the middle 95 % of replicates lie."""
    low, high = np.percentile(replicates, [(100.0 - LEVEL) / 2, (100.0 + LEVEL) / 2])
    return Interval(float(low), float(high))


def format_percent(value: float) -> str:
    """Return a share in percent with one decimal."""
    return f"{100.0 * value:.1f}"


def format_rank(value: float) -> str:
    """Return a mean rank: with a decimal where it is small."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def format_metric(value: float, metric: str) -> str:
    """Return a metric as people write it: MR as a number, MRR with three decimals, Hits in percent."""
    if metric == "mr":
        return format_rank(value)
    return f"{value:.3f}" if metric == "mrr" else format_percent(value)


def format_spread(summary: Summary, metric: str) -> str:
    """Return the median, and the extremes of the seeds in brackets where there are several."""
    median = format_metric(summary.median(metric), metric)
    low, high = (format_metric(value, metric) for value in summary.spread(metric))
    return median if len(summary.records) == 1 else f"{median} ({low}–{high})"


def format_interval(interval: Interval, metric: str) -> str:
    """Return the bounds of an interval."""
    return f"{format_metric(interval.low, metric)}–{format_metric(interval.high, metric)}"
