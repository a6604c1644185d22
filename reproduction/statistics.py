"""Bootstrap over test triples and seeds: samples, their differences, and how they are written.

Triples are drawn with replacement, and both queries of a triple (head and tail) are drawn with it. The draws depend on
the number of triples alone, so all runs that rank the same triples are resampled alike: the difference of two runs'
replicates is the replicate of their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from itransf.evaluation import Ranks
from itransf.interpret.measures.structure import find_interval
from itransf.models import SIDES
from reproduction.results import Record

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
REPLICATES, SEED = 1000, 0
FREQUENT, RAREST = 0, 2
"""The first and the last of the three frequency buckets."""
_AT_ONCE = 1 << 21  # draws held in memory at a time


@dataclass(frozen=True)
class Difference:
    """A difference of two medians and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def is_noise(self) -> bool:
        """Whether the interval contains zero."""
        return self.low <= 0.0 <= self.high

    def shift(self, by: float) -> Difference:
        """Return the difference plus a constant."""
        return Difference(self.value + by, self.low + by, self.high + by)


@dataclass(frozen=True, eq=False)
class Sample:
    """A figure for each seed.

    Attributes:
        values: Measured values, (s,).
        replicates: Values on resampled triples, (s, b); empty where none are stored.
    """

    values: Floats
    replicates: Floats

    @property
    def median(self) -> float:
        """Median over seeds."""
        return float(np.median(self.values))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the median over resampled triples."""
        return find_interval(np.median(self.replicates, axis=0))

    def __sub__(self, other: Sample) -> Sample:
        """Return the difference of two figures of the same runs, seed by seed."""
        return Sample(self.values - other.values, self.replicates - other.replicates)

    def compare(self, other: Sample) -> Difference:
        """Return the difference of the medians; its interval is over resampled triples and resampled seeds."""
        draws = _draw_seeds(self.replicates, 0) - _draw_seeds(other.replicates, 1)
        return Difference(self.median - other.median, *find_interval(draws))


def _draw_seeds(replicates: Floats, salt: int) -> Floats:
    """Return the median over seeds drawn with replacement, in each replicate, (b,)."""
    seeds, count = replicates.shape
    drawn = np.random.default_rng(salt).integers(seeds, size=(seeds, count))
    return np.asarray(np.median(np.take_along_axis(replicates, drawn, axis=0), axis=0))


def read_sample(records: Sequence[Record], metric: str, split: str = "metrics") -> Sample:
    """Return a metric of stored results.

    Args:
        records: Results of at least one seed.
        metric: "mr", "mrr", "hits@1", "hits@3" or "hits@10"; or a macro average of Hits@10: "rarest" (third of the
            relations), "rarest_but_one" (without the relation that has fewest test triples), or "gap" (rarest third
            less most frequent third).
        split: "metrics" for test, "valid" for validation.
    """
    if metric == "rarest" and split == "valid":
        return Sample(np.array([record["valid_buckets"][RAREST] for record in records]), np.empty((0, 0)))
    if metric in ("rarest", "rarest_but_one", "gap"):
        hits = read_relations(records)
        rarest = hits.average(hits.choose_bucket(RAREST, whole=metric != "rarest_but_one"))
        return rarest - hits.average(hits.choose_bucket(FREQUENT)) if metric == "gap" else rarest
    stored = split == "metrics" and metric in records[0]["bootstrap"]
    replicates = [record["bootstrap"][metric] for record in records] if stored else np.empty((0, 0))
    return Sample(np.array([record[split][metric] for record in records]), np.array(replicates))


@dataclass(frozen=True, eq=False)
class RelationHits:
    """Hits@10 of each relation, for each seed of a row.

    Attributes:
        relations: What is stored of each relation (first seed; names and counts are the same for all).
        values: Measured values, (s, r).
        replicates: Values on triples resampled within each relation, (s, r, b).
    """

    relations: Sequence[Record]
    values: Floats
    replicates: Floats

    def average(self, chosen: Mask) -> Sample:
        """Return the macro average over some relations."""
        return Sample(self.values[:, chosen].mean(axis=1), self.replicates[:, chosen].mean(axis=1))

    def choose_bucket(self, bucket: int, whole: bool = True) -> Mask:
        """Return which relations are in a frequency bucket, (r,); if not whole, without the smallest."""
        chosen = np.array([relation["bucket"] == bucket for relation in self.relations])
        if not whole:
            chosen[self.find_smallest(chosen)] = False
        return chosen

    def find_smallest(self, chosen: Mask) -> int:
        """Return which of some relations has the fewest test triples."""
        sizes = np.array([relation["test_triples"] for relation in self.relations])
        return int(np.argmin(np.where(chosen, sizes, sizes.max() + 1)))


def read_relations(records: Sequence[Record]) -> RelationHits:
    """Return the Hits@10 of each relation from the stored results of at least one seed."""
    tables = [record["relations"] for record in records]
    values = np.array([[relation["hits@10"] for relation in table] for table in tables])
    digits = zip(*([relation["hits"] for relation in table] for table in tables), strict=True)
    return RelationHits(tables[0], values, _resample_digits(tuple(digits)))


@lru_cache(maxsize=6)
def _resample_digits(digits: tuple[tuple[str, ...], ...]) -> Floats:
    """Return replicates (s, r, b) from stored digits: of each relation and seed, how many queries of a triple hit."""
    codes = [[np.frombuffer(own.encode(), dtype=np.uint8) for own in seeds] for seeds in digits]
    shares = [(np.stack(seeds, axis=1).astype(np.float64) - ord("0")) / 2 for seeds in codes]
    return resample_relations(shares).transpose(2, 0, 1)


def resample_triples(ranks: Ranks, replicates: int = REPLICATES) -> dict[str, Floats]:
    """Return replicates of filtered mean rank and Hits@10 (as a share) over both sides."""
    by_triple = np.stack([ranks.ranks(side) for side in SIDES], axis=1)  # (n, 2)
    values = np.stack([by_triple.mean(axis=1), (by_triple <= 10).mean(axis=1)], axis=1)  # (n, 2 metrics)
    mean_ranks, hits = resample_means(values, replicates, np.random.default_rng(SEED)).T
    return {"mr": mean_ranks, "hits@10": hits}


def resample_relations(values: Sequence[Floats], replicates: int = REPLICATES) -> Floats:
    """Return replicates of each relation's mean, (relations, replicates, v).

    The draws of a relation depend on its place and its number of triples, so runs with the same relations are
    comparable, and leaving a relation out does not change the draws of the others.

    Args:
        values: For each relation v values per triple, (n, v).
        replicates: Number of replicates.
    """
    found = [resample_means(own, replicates, np.random.default_rng([SEED, place])) for place, own in enumerate(values)]
    return np.stack(found)


def resample_means(values: Floats, replicates: int, generator: np.random.Generator) -> Floats:
    """Return the means (replicates, v) of n rows drawn with replacement from (n, v)."""
    n = len(values)
    found = []
    for start in range(0, replicates, max(1, _AT_ONCE // n)):
        rounds = min(max(1, _AT_ONCE // n), replicates - start)
        drawn = generator.integers(n, size=(rounds, n))
        # How often each row was drawn, (rounds, n): a product with the values is the sum of those drawn.
        places = (drawn + n * np.arange(rounds)[:, None]).reshape(-1)
        counts = np.bincount(places, minlength=rounds * n).reshape(rounds, n)
        found.append(counts @ values / n)
    return np.concatenate(found)


def format_metric(value: float, metric: str) -> str:
    """Return a metric as text: mean rank as a number, MRR with three decimals, Hits in percent."""
    if metric == "mr":
        return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
    if metric in ("mrr", "overlap"):
        return f"{value:.{3 if metric == 'mrr' else 2}f}"
    return f"{100.0 * value:.1f}"


def format_sample(sample: Sample, metric: str, mean: bool = False) -> str:
    """Return the median (or mean), and the extremes of the seeds where there are several."""
    middle = float(sample.values.mean()) if mean else sample.median
    text, low, high = (format_metric(value, metric) for value in (middle, sample.values.min(), sample.values.max()))
    return text if len(sample.values) == 1 else f"{text} ({low}–{high})"


def format_interval(sample: Sample, metric: str) -> str:
    """Return the bounds of the 95 % interval."""
    return "–".join(format_metric(bound, metric) for bound in sample.interval)


def format_difference(difference: Difference, metric: str) -> str:
    """Return a difference with sign and interval; Hits in percentage points."""
    numbers = (difference.value, difference.low, difference.high)
    if metric in ("seconds", "weights"):
        value, low, high = (f"{number:+.3g}" for number in numbers)
    else:
        scale, decimals = (1.0, 1) if metric == "mr" else (100.0, 2)
        value, low, high = (f"{scale * number:+,.{decimals}f}" for number in numbers)
    return f"{value} ({low}, {high})"
