"""Relations that mirror or repeat each other, and how much of a split they give away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from itransf.data.encoding import Triples
from itransf.data.graph import Graph
from itransf.data.sorting import Integers, is_among, sort_distinct

THRESHOLD = 0.8
"""The overlap from which relations count as inverse, symmetric or duplicate."""


@dataclass(frozen=True)
class Structure:
    """Relations that train shows to be inverse, symmetric or duplicate, strongest first.

    Attributes:
        inverse: (relation, other relation, overlap): the facts of one, reversed, are those of the other.
        symmetric: (relation, share of its facts that also stand reversed).
        duplicate: (relation, other relation, overlap): both hold the same facts.
    """

    inverse: tuple[tuple[int, int, float], ...]
    symmetric: tuple[tuple[int, float], ...]
    duplicate: tuple[tuple[int, int, float], ...]


@dataclass(frozen=True)
class Leakage:
    """The shares of a split's facts that train gives away in one step.

    Attributes:
        inverse: (tail, other relation, head) is in train, and the two relations are inverse.
        symmetric: (tail, relation, head) is in train.
        duplicate: (head, other relation, tail) is in train, and the two relations are duplicates.
        any: One of these three.
        reversed_pair: Train links tail to head by any relation.
        same_pair: Train links head to tail by any relation.
    """

    inverse: float
    symmetric: float
    duplicate: float
    any: float
    reversed_pair: float
    same_pair: float


def mine_structure(graph: Graph, threshold: float = THRESHOLD) -> Structure:
    """Find inverse pairs, symmetric relations and duplicate pairs in train.

    The overlap of two relations is the share of the larger one's facts that the other has too (reversed, for
    inverse pairs). A fact that links an entity to itself counts as its own reverse.

    Args:
        graph: The graph; only train is looked at.
        threshold: The overlap from which a pair or relation counts.
    """
    facts, sizes = graph.train, graph.statistics.counts
    pairs = _PairTable(facts, len(graph.entities))
    reversed_pairs = _overlap(facts[:, 1], *pairs.look_up(facts[:, ::-1]), sizes, threshold)
    same_pairs = _overlap(facts[:, 1], *pairs.look_up(facts), sizes, threshold)
    return Structure(
        inverse=tuple(found for found in reversed_pairs if found[0] < found[1]),
        symmetric=tuple((left, share) for left, right, share in reversed_pairs if left == right),
        duplicate=tuple(found for found in same_pairs if found[0] < found[1]),
    )


def measure_leakage(graph: Graph, split: str = "test", structure: Structure | None = None) -> Leakage:
    """Measure which shares of a split's facts train gives away in one step.

    Args:
        graph: The graph.
        split: The split to measure.
        structure: Which relations count as inverse and duplicate; mined from train if not given.
    """
    facts = graph.split(split)
    if not len(facts):
        return Leakage(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    structure = structure or mine_structure(graph)
    count = len(graph.relations)
    pairs = _PairTable(graph.train, len(graph.entities))
    backward, forward = pairs.look_up(facts[:, ::-1]), pairs.look_up(facts)
    inverse = _meets(facts, *backward, _list_codes(structure.inverse, count), count)
    symmetric = _meets(facts, *backward, np.arange(count) * (count + 1), count)
    duplicate = _meets(facts, *forward, _list_codes(structure.duplicate, count), count)
    shares = (inverse, symmetric, duplicate, inverse | symmetric | duplicate, backward[0] > 0, forward[0] > 0)
    return Leakage(*(float(np.mean(share)) for share in shares))


class _PairTable:
    """The relations between every two entities of a list of facts."""

    def __init__(self, facts: Triples, entity_count: int) -> None:
        self._entity_count = entity_count
        keys = facts[:, 0] * entity_count + facts[:, 2]
        order = np.argsort(keys, kind="stable")
        self._keys, sizes = np.unique(keys[order], return_counts=True)
        self._starts, self._sizes = np.cumsum(sizes) - sizes, sizes
        self._relations = facts[order, 1]

    def look_up(self, facts: Triples) -> tuple[Integers, Integers]:
        """Return how many relations link first to last column of each row, and these relations in a row."""
        wanted = facts[:, 0] * self._entity_count + facts[:, 2]
        rows = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        sizes = np.where(self._keys[rows] == wanted, self._sizes[rows], 0)
        offsets = np.cumsum(sizes) - sizes
        places = np.repeat(self._starts[rows] - offsets, sizes) + np.arange(int(sizes.sum()))
        return sizes, self._relations[places]


def _overlap(
    relations: Integers, sizes_found: Integers, found: Integers, counts: Integers, threshold: float
) -> list[tuple[int, int, float]]:
    """Return the pairs of relations whose overlap reaches the threshold, strongest first."""
    codes, shared = np.unique(np.repeat(relations, sizes_found) * len(counts) + found, return_counts=True)
    left, right = np.divmod(codes, len(counts))
    overlap = shared / np.maximum(counts[left], counts[right])
    rows = [
        (int(a), int(b), float(share)) for a, b, share in zip(left, right, overlap, strict=True) if share >= threshold
    ]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


def _list_codes(pairs: tuple[tuple[int, int, float], ...], count: int) -> Integers:
    """Return the codes of relation pairs, in both orders, ascending."""
    both = [(a, b) for left, right, _ in pairs for a, b in ((left, right), (right, left))]
    codes = np.array([a * count + b for a, b in both], dtype=np.int64)
    return sort_distinct(codes)


def _meets(facts: Triples, sizes: Integers, found: Integers, codes: Integers, count: int) -> npt.NDArray[np.bool_]:
    """Return for each fact whether one of the relations found for it forms a wanted pair with its own."""
    rows = np.repeat(np.arange(len(facts)), sizes)
    hit = is_among(facts[rows, 1] * count + found, codes)
    met = np.zeros(len(facts), dtype=np.bool_)
    met[rows[hit]] = True
    return met
