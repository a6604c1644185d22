"""Index of known answers, for filtered ranking and for avoiding false negatives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def sort_distinct(values: Integers) -> Integers:
    """Return the distinct values, ascending; several times faster than numpy's hashing on large arrays."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def is_among(values: Integers, ordered: Integers) -> npt.NDArray[np.bool_]:
    """Return for each value whether it is one of `ordered`, which must be ascending."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    places = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.asarray(ordered[places] == values)


class _AnswerTable:
    """Sorted answers of the (entity, relation) pairs that occur, in compressed rows."""

    def __init__(self, entities: Integers, relations: Integers, answers: Integers, sizes: tuple[int, int]):
        self._entity_count, self._relation_count = sizes
        # By relation first, so that queries sorted by relation are found fast.
        keys, rows = np.unique(relations * self._entity_count + entities, return_inverse=True)
        self._keys = np.append(keys, np.iinfo(np.int64).max)  # the last row is for other pairs and has no answers
        # Pairs are numbered by occurrence, so that (pair, answer) fits 64 bits for any graph.
        self._triples = sort_distinct(rows.astype(np.int64) * self._entity_count + answers)
        self._values = self._triples % max(self._entity_count, 1)
        row_sizes = np.bincount(self._triples // max(self._entity_count, 1), minlength=len(self._keys))
        self._offsets = np.concatenate(([0], np.cumsum(row_sizes))).astype(np.int64)

    def look_up(self, entities: Integers, relations: Integers) -> tuple[Integers, Integers]:
        """Return offsets (q + 1,) and values; query i has values[offsets[i] : offsets[i + 1]]."""
        rows = self._find_rows(entities, relations)
        starts = self._offsets[rows]
        sizes = self._offsets[rows + 1] - starts
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        # (v,) places in the table: the start of each query's row, then one by one
        places = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
        return offsets, self._values[places]

    def contains(self, entities: Integers, relations: Integers, answers: Integers) -> npt.NDArray[np.bool_]:
        """Return for each query and answer whether it is known."""
        rows = self._find_rows(entities, relations)
        _check_range(answers, self._entity_count, "entity")
        return is_among(rows * self._entity_count + answers, self._triples)

    def _find_rows(self, entities: Integers, relations: Integers) -> Integers:
        """Return the row of each pair."""
        _check_range(entities, self._entity_count, "entity")
        _check_range(relations, self._relation_count, "relation")
        wanted = relations * self._entity_count + entities
        rows = np.searchsorted(self._keys, wanted).astype(np.int64)
        return np.where(self._keys[rows] == wanted, rows, len(self._keys) - 1)


class KnownIndex:
    """The known answers of all queries on both sides, compressed (CSR).

    Args:
        triples: (n, 3) triples: head, relation, tail; duplicates count once.
        entity_count: Number of entities.
        relation_count: Number of relations.
    """

    def __init__(self, triples: Integers, entity_count: int, relation_count: int) -> None:
        _check_range(triples[:, (0, 2)], entity_count, "entity")
        _check_range(triples[:, 1], relation_count, "relation")
        heads, relations, tails = (np.ascontiguousarray(column, dtype=np.int64) for column in triples.T)
        sizes = (entity_count, relation_count)
        self._tails = _AnswerTable(heads, relations, tails, sizes)
        self._heads = _AnswerTable(tails, relations, heads, sizes)

    def tails(self, heads: npt.ArrayLike, relations: npt.ArrayLike) -> tuple[Integers, Integers]:
        """Return the known tails of each (head, relation), ascending, as offsets (q + 1,) and values."""
        entities, relations = _align(heads, relations)
        return self._tails.look_up(entities, relations)

    def heads(self, relations: npt.ArrayLike, tails: npt.ArrayLike) -> tuple[Integers, Integers]:
        """Return the known heads of each (relation, tail), ascending, as offsets (q + 1,) and values."""
        entities, relations = _align(tails, relations)
        return self._heads.look_up(entities, relations)

    def contains(self, triples: Integers) -> npt.NDArray[np.bool_]:
        """Return for each row of `triples` (n, 3) whether it is a known triple."""
        heads, relations, tails = np.asarray(triples, dtype=np.int64).reshape(-1, 3).T
        return self._tails.contains(heads, relations, tails)


def _align(entities: npt.ArrayLike, relations: npt.ArrayLike) -> tuple[Integers, Integers]:
    """Return both as one-dimensional arrays of one length."""
    left, right = np.broadcast_arrays(
        np.atleast_1d(np.asarray(entities, dtype=np.int64)),
        np.atleast_1d(np.asarray(relations, dtype=np.int64)),
    )
    return left, right


def _check_range(numbers: Integers, count: int, kind: str) -> None:
    """Refuse numbers outside 0 .. count - 1: they would be taken for another pair."""
    if numbers.size and (numbers.min() < 0 or numbers.max() >= count):
        wrong = numbers[(numbers < 0) | (numbers >= count)][0]
        raise IndexError(f"{kind} number {wrong} is outside 0 .. {count - 1}")
