"""What the training triples say about each relation: frequency, domains, answers per question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from itransf.data.sorting import Integers, sort_distinct
from itransf.errors import DataError, did_you_mean

CATEGORIES = ("1-1", "1-N", "N-1", "N-N")
MANY = 1.5  # mean answers per question from which the literature says "N"


class RelationStatistics:
    """Counts, domains and mapping categories of each relation, from train only.

    Attributes:
        counts: (r,) distinct triples per relation.
        has_loops: (r,) whether a relation has triples whose head is their tail.
        tails_per_head: (r,) mean over the heads that occur; 0 for a relation without triples.
        heads_per_tail: (r,) mean over the tails that occur; 0 for a relation without triples.
        head_domain_offsets: (r + 1,) where each relation's heads start in `head_domain_values`.
        head_domain_values: The distinct heads of each relation, ascending.
        tail_domain_offsets: (r + 1,) where each relation's tails start in `tail_domain_values`.
        tail_domain_values: The distinct tails of each relation, ascending.
    """

    def __init__(self, triples: Integers, entity_count: int, relation_count: int) -> None:
        heads, relations, tails = (np.ascontiguousarray(column, dtype=np.int64) for column in triples.T)
        self.relation_count = relation_count
        self.counts: Integers = np.bincount(relations, minlength=relation_count).astype(np.int64)
        self.has_loops = np.bincount(relations[heads == tails], minlength=relation_count) > 0
        self.head_domain_offsets, self.head_domain_values = _collect(relations, heads, entity_count, relation_count)
        self.tail_domain_offsets, self.tail_domain_values = _collect(relations, tails, entity_count, relation_count)
        self.tails_per_head = self.counts / np.maximum(self.head_domain_sizes, 1)
        self.heads_per_tail = self.counts / np.maximum(self.tail_domain_sizes, 1)

    @property
    def head_domain_sizes(self) -> Integers:
        """How many distinct heads each relation has, (r,)."""
        return np.diff(self.head_domain_offsets)

    @property
    def tail_domain_sizes(self) -> Integers:
        """How many distinct tails each relation has, (r,)."""
        return np.diff(self.tail_domain_offsets)

    def head_domain(self, relation: int) -> Integers:
        """Return the distinct heads of a relation, ascending."""
        return self.head_domain_values[slice(*self.head_domain_offsets[relation : relation + 2])]

    def tail_domain(self, relation: int) -> Integers:
        """Return the distinct tails of a relation, ascending."""
        return self.tail_domain_values[slice(*self.tail_domain_offsets[relation : relation + 2])]

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Each relation's mapping category: "1-1", "1-N", "N-1" or "N-N" (without triples: "1-1")."""
        many_heads = self.heads_per_tail >= MANY
        many_tails = self.tails_per_head >= MANY
        return tuple(CATEGORIES[number] for number in (2 * many_heads + many_tails).tolist())

    def frequency_buckets(
        self,
        count: int = 3,
        by: Literal["count", "log"] = "count",
        of: Sequence[int] | Integers | None = None,
    ) -> Integers:
        """Sort relations into frequency buckets, 0 the most frequent.

        Args:
            count: How many buckets.
            by: "count" gives each bucket as many relations (equal frequencies in the order of their numbers);
                "log" cuts the logarithm of the frequency into intervals of equal width.
            of: The relations to sort; the others get -1. All, if not given.

        Returns:
            (r,) bucket of each relation.
        """
        if count < 1:
            raise DataError(f"{count} frequency buckets cannot be made; ask for 1 or more")
        chosen = np.arange(self.relation_count) if of is None else np.unique(np.asarray(of, dtype=np.int64))
        buckets = np.full(self.relation_count, -1, dtype=np.int64)
        if not len(chosen):
            return buckets
        if by == "count":
            order = chosen[np.argsort(-self.counts[chosen], kind="stable")]
            buckets[order] = np.arange(len(order)) * count // len(order)
        elif by == "log":
            buckets[chosen] = _cut_evenly(np.log(np.maximum(self.counts[chosen], 1)), count)
        else:
            raise DataError(
                f"relations cannot be bucketed by {by!r}; use 'count' or 'log'.{did_you_mean(by, ('count', 'log'))}"
            )
        return buckets


def _collect(
    relations: Integers, entities: Integers, entity_count: int, relation_count: int
) -> tuple[Integers, Integers]:
    """Return the distinct entities of each relation as offsets (r + 1,) and ascending values."""
    keys = sort_distinct(relations * entity_count + entities)
    sizes = np.bincount(keys // max(entity_count, 1), minlength=relation_count)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return offsets, keys % max(entity_count, 1)


def _cut_evenly(values: npt.NDArray[np.float64], count: int) -> Integers:
    """Return each value's interval of equal width, 0 the highest."""
    width = values.max() - values.min()
    if width == 0:
        return np.zeros(len(values), dtype=np.int64)
    place = (values.max() - values) / width * count
    buckets: Integers = np.minimum(place.astype(np.int64), count - 1)
    return buckets
