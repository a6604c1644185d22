"""Statistics of each relation in the training triples: frequency, domains, mapping category."""

from functools import cached_property
from typing import Literal

import numpy as np

from itransf.data.known import Booleans, Integers, sort_distinct
from itransf.errors import DataError, check_count

CATEGORIES = ("1-1", "1-N", "N-1", "N-N")
ONE_SHARE = 0.95  # share of the subjects with one answer from which a relation allows one
FEWEST_SUBJECTS = 5  # subjects below which this is not said
MANY = 1.5  # mean answers per query from which the literature writes "N"


class RelationStatistics:
    """Counts, domains and mapping categories of each relation, from train only.

    Attributes:
        counts: (r,) distinct triples per relation.
        allows_loops: (r,) whether at least half of a relation's triples are self-loops: their head is their tail.
        tails_per_head: (r,) mean over the heads that occur; 0 for a relation without triples.
        heads_per_tail: (r,) mean over the tails that occur; 0 for a relation without triples.
        one_tail: (r,) whether a head has one tail: so it is for 95 % of the heads or more, and these are at least five.
        one_head: (r,) whether a tail has one head, likewise.
        domains: For "head" and "tail", the distinct heads or tails of each relation, ascending: where those of each
            relation start, (r + 1,), and all of them.
    """

    def __init__(self, triples: Integers, entity_count: int, relation_count: int) -> None:
        heads, relations, tails = (np.ascontiguousarray(column, dtype=np.int64) for column in triples.T)
        self.relation_count = relation_count
        self.counts: Integers = np.bincount(relations, minlength=relation_count).astype(np.int64)
        loops = np.bincount(relations[heads == tails], minlength=relation_count)
        self.allows_loops = 2 * loops >= np.maximum(self.counts, 1)
        self.domains = {
            side: _collect(relations, entities, entity_count, relation_count)
            for side, entities in (("head", heads), ("tail", tails))
        }
        self.tails_per_head = self.counts / np.maximum(self.domain_sizes("head"), 1)
        self.heads_per_tail = self.counts / np.maximum(self.domain_sizes("tail"), 1)
        self.one_tail = _have_one(relations, heads, entity_count, relation_count)
        self.one_head = _have_one(relations, tails, entity_count, relation_count)

    def domain_sizes(self, side: str) -> Integers:
        """Return the number of distinct heads or tails of each relation, (r,)."""
        return np.diff(self.domains[side][0])

    def domain(self, relation: int, side: str) -> Integers:
        """Return the distinct heads or tails of a relation, ascending."""
        offsets, values = self.domains[side]
        return values[slice(*offsets[relation : relation + 2])]

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """Each relation's mapping category: "1-1", "1-N", "N-1" or "N-N" (without triples: "1-1")."""
        many_heads = self.heads_per_tail >= MANY
        many_tails = self.tails_per_head >= MANY
        return tuple(CATEGORIES[number] for number in (2 * many_heads + many_tails).tolist())

    def frequency_buckets(self, count: int = 3, by: Literal["count", "log"] = "count") -> Integers:
        """Sort relations into frequency buckets, 0 the most frequent.

        Args:
            count: Number of buckets.
            by: "count" gives each bucket as many relations (equal frequencies in the order of their numbers);
                "log" cuts the logarithm of the frequency into intervals of equal width.

        Returns:
            (r,) bucket of each relation.
        """
        count = check_count("buckets", count, least=1)
        if by not in ("count", "log"):
            raise DataError(f"relations cannot be bucketed by {by!r}; use 'count' or 'log'")
        if by == "count":
            buckets = np.empty(self.relation_count, dtype=np.int64)
            order = np.argsort(-self.counts, kind="stable")
            buckets[order] = np.arange(len(order)) * count // max(len(order), 1)
            return buckets
        depths = np.log(self.counts.max(initial=1)) - np.log(np.maximum(self.counts, 1))
        width = depths.max(initial=0) or 1.0
        return np.asarray(np.minimum((depths / width * count).astype(np.int64), count - 1))


def _collect(
    relations: Integers, entities: Integers, entity_count: int, relation_count: int
) -> tuple[Integers, Integers]:
    """Return the distinct entities of each relation as offsets (r + 1,) and ascending values."""
    keys = sort_distinct(relations * entity_count + entities)
    sizes = np.bincount(keys // max(entity_count, 1), minlength=relation_count)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return offsets, keys % max(entity_count, 1)


def _have_one(relations: Integers, subjects: Integers, entity_count: int, relation_count: int) -> Booleans:
    """Return for each relation whether a subject has one answer, (r,)."""
    keys, answers = np.unique(relations * entity_count + subjects, return_counts=True)
    owners = keys // max(entity_count, 1)
    total, single = (np.bincount(each, minlength=relation_count) for each in (owners, owners[answers == 1]))
    return np.asarray((total >= FEWEST_SUBJECTS) & (single >= ONE_SHARE * total))
