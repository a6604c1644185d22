"""Hits@10 by how often relations occur: macro averages, and how far they move when triples are drawn anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from itransf.experiments.reproduction.bootstrap import resample_relations
from itransf.experiments.reproduction.results import Record
from itransf.experiments.reproduction.summaries import (
    Difference,
    Floats,
    Interval,
    compare_replicates,
    find_interval,
)

Mask = npt.NDArray[np.bool_]
FREQUENT, RAREST = 0, 2
"""The first and the last of the three buckets."""


@dataclass(frozen=True, eq=False)
class MacroHits:
    """A macro average of Hits@10, for each seed.

    Attributes:
        values: (s,) as measured.
        replicates: (s, b) with triples drawn anew within each relation.
    """

    values: Floats
    replicates: Floats

    @property
    def median(self) -> float:
        """The median over seeds."""
        return float(np.median(self.values))

    @property
    def interval(self) -> Interval:
        """Where 95 % lie of what one training has, its seed and its triples drawn anew."""
        return find_interval(self.replicates.ravel())

    def __sub__(self, other: MacroHits) -> MacroHits:
        """Return the difference, seed by seed, of two averages of the same runs."""
        return MacroHits(self.values - other.values, self.replicates - other.replicates)

    def compare(self, other: MacroHits) -> Difference:
        """Return this median less another, and where that lies when triples and seeds are drawn anew."""
        return Difference(self.median - other.median, compare_replicates(self.replicates, other.replicates))


@dataclass(frozen=True, eq=False)
class RelationHits:
    """Hits@10 of each relation, for each seed of a row.

    Attributes:
        relations: What is stored of each relation (of the first seed; names and counts are those of all).
        values: (s, r) as measured.
        replicates: (s, r, b) with triples drawn anew within each relation.
    """

    relations: Sequence[Record]
    values: Floats
    replicates: Floats

    def average(self, chosen: Mask) -> MacroHits:
        """Return the macro average over some relations."""
        return MacroHits(self.values[:, chosen].mean(axis=1), self.replicates[:, chosen].mean(axis=1))

    def choose_bucket(self, bucket: int) -> Mask:
        """Return which relations are in a frequency bucket, (r,)."""
        return np.array([relation["bucket"] == bucket for relation in self.relations])

    def find_smallest(self, chosen: Mask) -> int:
        """Return which of some relations has the fewest test triples."""
        sizes = np.array([relation["test_triples"] for relation in self.relations])
        return int(np.argmin(np.where(chosen, sizes, sizes.max() + 1)))

    def choose_without_smallest(self, bucket: int) -> Mask:
        """Return which relations are in a bucket, less the one with the fewest test triples."""
        chosen = self.choose_bucket(bucket)
        chosen[self.find_smallest(chosen)] = False
        return chosen


def read_hits(records: Sequence[Record]) -> RelationHits | None:
    """Return the Hits@10 of each relation from stored results, None if there are none."""
    if not records:
        return None
    tables = [record["relations"] for record in records]
    values = np.array([[relation["hits@10"] for relation in table] for table in tables])
    replicates = np.stack([resample_digits(tuple(relation["hits"] for relation in table)) for table in tables])
    return RelationHits(tables[0], values, replicates)


@lru_cache(maxsize=16)
def resample_digits(digits: tuple[str, ...]) -> Floats:
    """Return replicates (r, b) from the stored digits of relations: of each triple, how many of its questions hit."""
    codes = [np.frombuffer(own.encode(), dtype=np.uint8).astype(np.float64) for own in digits]
    return resample_relations([(own - ord("0")) / 2 for own in codes])
