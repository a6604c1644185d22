"""Index of known answers, for filtered ranking and for avoiding false negatives."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Triples = npt.NDArray[np.int64]
"""(n, 3) triples as numbers: head, relation, tail."""
LARGEST = 2**63  # numbers below it fit 64 bits


def sort_distinct(values: Integers) -> Integers:
    """Return the distinct values, ascending; several times faster than numpy's hashing on large arrays."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def is_among(values: Integers, ordered: Integers) -> Booleans:
    """Return for each value whether it is one of `ordered`, which must be ascending."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[places] == values)


def expand_ranges(starts: Integers, sizes: Integers) -> tuple[Integers, Integers]:
    """Return the position of the range of each number, and the numbers of all ranges, one range after another."""
    positions = np.repeat(np.arange(len(starts)), sizes)
    before = np.cumsum(sizes) - sizes
    return positions, np.arange(len(positions)) + (starts - before)[positions]


def key_triples(splits: Sequence[Triples]) -> list[Integers]:
    """Return one number per triple, the same for the same triple in any of these splits."""
    together = np.concatenate(splits)
    entity_count, relation_count = (1 + int(column.max(initial=0)) for column in (together[:, ::2], together[:, 1]))
    pairs = together[:, 0] * relation_count + together[:, 1]
    if entity_count * relation_count * entity_count >= LARGEST:
        # Number the pairs that occur, so that pair and tail fit 64 bits together.
        pairs = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
    keys = pairs * entity_count + together[:, 2]
    return np.split(keys, np.cumsum([len(split) for split in splits])[:-1])


class PairIndex:
    """Sorted values of the pairs of numbers that occur, in compressed rows (CSR).

    Args:
        first: First number of each pair, (n,).
        second: Second number of each pair, (n,).
        values: Value of each pair, (n,); a pair may have several, and the same one counts once.
        sizes: Numbers of possible second numbers and of possible values.
    """

    def __init__(self, first: Integers, second: Integers, values: Integers, sizes: tuple[int, int]) -> None:
        self._second_count, self._value_count = sizes
        pairs, size = first * self._second_count + second, max(self._value_count, 1)
        # Pairs are numbered by occurrence, so that (pair, value) fits 64 bits for any graph.
        if (int(pairs.max(initial=0)) + 1) * size < LARGEST:  # one sort orders pairs and values
            self._entries = sort_distinct(pairs * size + values)
            pairs = self._entries // size
            is_first = np.diff(pairs, prepend=-1) != 0
            keys = pairs[is_first]
            self._entries -= (pairs - np.cumsum(is_first) + 1) * size
        else:
            keys, rows = np.unique(pairs, return_inverse=True)
            self._entries = sort_distinct(rows.astype(np.int64) * size + values)
        self._keys = np.append(keys, np.iinfo(np.int64).max)  # the last row is for other pairs and has no values
        row_sizes = np.bincount(self._entries // size, minlength=len(self._keys))
        self._offsets = np.concatenate(([0], np.cumsum(row_sizes))).astype(np.int64)

    def look_up(self, first: Integers, second: Integers) -> tuple[Integers, Integers]:
        """Return offsets (q + 1,) and values; pair i has values[offsets[i] : offsets[i + 1]]."""
        rows = self._find_rows(first, second)
        sizes = self._offsets[rows + 1] - self._offsets[rows]
        places = expand_ranges(self._offsets[rows], sizes)[1]
        return np.append(0, np.cumsum(sizes)), self._entries[places] % max(self._value_count, 1)

    def count(self, first: Integers, second: Integers) -> Integers:
        """Return the number of values of each pair."""
        rows = self._find_rows(first, second)
        return self._offsets[rows + 1] - self._offsets[rows]

    def contains(self, first: Integers, second: Integers, values: Integers) -> Booleans:
        """Return for each pair whether it has this value."""
        return is_among(self._find_rows(first, second) * self._value_count + values, self._entries)

    def _find_rows(self, first: Integers, second: Integers) -> Integers:
        """Return the row of each pair."""
        wanted = first * self._second_count + second
        rows = np.searchsorted(self._keys, wanted).astype(np.int64)
        return np.where(self._keys[rows] == wanted, rows, len(self._keys) - 1)


class KnownIndex:
    """The known answers of all queries on both sides.

    Args:
        triples: (n, 3) triples: head, relation, tail; duplicates count once.
        entity_count: Number of entities.
        relation_count: Number of relations.
    """

    def __init__(self, triples: Integers, entity_count: int, relation_count: int) -> None:
        self._entity_count, self._relation_count = entity_count, relation_count
        heads, relations, tails = (np.ascontiguousarray(column, dtype=np.int64) for column in triples.T)
        for entities in (heads, tails):
            self._check(relations, entities)
        # By relation first, so that queries sorted by relation are found fast.
        self._answers = {
            "head": PairIndex(relations, tails, heads, (entity_count, entity_count)),
            "tail": PairIndex(relations, heads, tails, (entity_count, entity_count)),
        }

    def answers(self, entities: npt.ArrayLike, relations: npt.ArrayLike, side: str) -> tuple[Integers, Integers]:
        """Return the known entities on a side, "head" or "tail", of each relation with an entity on the other side.

        Returns:
            Offsets (q + 1,) and values, ascending for each pair.
        """
        return self._answers[side].look_up(*self._check(relations, entities))

    def count(self, entities: npt.ArrayLike, relations: npt.ArrayLike, side: str) -> Integers:
        """Return the number of known answers on a side, "head" or "tail", to each (entity, relation)."""
        return self._answers[side].count(*self._check(relations, entities))

    def contains(self, triples: Integers) -> Booleans:
        """Return for each row of `triples` (n, 3) whether it is a known triple."""
        heads, relations, tails = np.asarray(triples, dtype=np.int64).reshape(-1, 3).T
        return self._answers["tail"].contains(*self._check(relations, heads), self._check(relations, tails)[1])

    def _check(self, relations: npt.ArrayLike, entities: npt.ArrayLike) -> tuple[Integers, Integers]:
        """Return both as arrays of one length, refusing numbers out of range: they would be taken for another pair."""
        left, right = (np.atleast_1d(np.asarray(numbers, dtype=np.int64)) for numbers in (relations, entities))
        left, right = np.broadcast_arrays(left, right)
        for numbers, count, kind in ((left, self._relation_count, "relation"), (right, self._entity_count, "entity")):
            if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
                wrong = numbers[(numbers < 0) | (numbers >= count)][0]
                raise IndexError(f"{kind} number {wrong} is outside 0 .. {count - 1}")
        return left, right
