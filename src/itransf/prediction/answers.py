"""Answers as arrays, and triples as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from itransf.data.graph import Graph, Triples
from itransf.data.known import Integers

Scores = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Found:
    """Answers in the order of the queries, best first within each.

    Attributes:
        queries: Which query each answers, from 0, (n,).
        ranks: Its place among the query's answers, from 1, (n,).
        triples: The completed triples, (n, 3).
        scores: Their plausibility, (n,).
    """

    queries: Integers
    ranks: Integers
    triples: Triples
    scores: Scores


@dataclass(frozen=True)
class LabelledTriple:
    """A triple by names and labels, and whatever is told of it.

    Attributes:
        head: The head's name.
        relation: The relation's name.
        tail: The tail's name.
        head_label: What a person reads for the head.
        relation_label: What a person reads for the relation.
        tail_label: What a person reads for the tail.
    """

    head: str
    relation: str
    tail: str
    head_label: str
    relation_label: str
    tail_label: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return asdict(self)


def name_triple(graph: Graph, triple: Sequence[int]) -> tuple[str, str, str, str, str, str]:
    """Return the names of head, relation and tail, then their labels."""
    head, relation, tail = triple
    entities, relations = graph.entities, graph.relations
    return (
        *(entities.name(head), relations.name(relation), entities.name(tail)),
        *(entities.label(head), relations.label(relation), entities.label(tail)),
    )


def group_equal(keys: Integers) -> list[Integers]:
    """Return the places of each distinct key, ascending, in the order of the keys."""
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if len(order) else []


def number_answers(triples: Triples, scores: Scores) -> Found:
    """Return the answers to a single query."""
    return Found(np.zeros(len(triples), dtype=np.int64), np.arange(1, len(triples) + 1), triples, scores)


def find_nothing() -> Found:
    """Return no answers."""
    return number_answers(np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.float32))


def join_found(parts: list[tuple[Integers, Found]]) -> Found:
    """Join the answers of groups of queries and bring them into the order of the queries.

    Args:
        parts: For each group, the numbers of its queries (q,) and what was found for them.
    """
    if not parts:
        return find_nothing()
    queries = np.concatenate([numbers[found.queries] for numbers, found in parts])
    ranks = np.concatenate([found.ranks for _, found in parts])
    triples = np.concatenate([found.triples for _, found in parts])
    scores = np.concatenate([found.scores for _, found in parts])
    order = np.lexsort((ranks, queries))
    return Found(queries[order], ranks[order], triples[order], scores[order])
