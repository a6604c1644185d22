"""Answering many queries at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from itransf.data.graph import Graph, Triples
from itransf.data.known import Integers
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError
from itransf.models.base import Model, Side
from itransf.prediction.answers import Found, group_equal, join_found
from itransf.prediction.completion import resolve_candidates
from itransf.prediction.queries import Query
from itransf.prediction.searching import DEFAULT_MEMORY, Search, find_entities, find_relations
from itransf.progress import track

OPEN = -1  # stands for what a query asks


def answer_queries(
    model: Model,
    graph: Graph,
    queries: Sequence[Query],
    top: int = 10,
    *,
    candidates: Sequence[str] | None = None,
    in_domain: bool = False,
    include_known: bool = False,
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
) -> pa.Table:
    """Return the best answers to each query, in the order of the queries.

    Queries are grouped, so that the entity table is projected once per relation and side.

    Args:
        model: What scores.
        graph: The names, and the triples that are known.
        queries: What is asked.
        top: How many answers to each.
        candidates: The only entities that may be answers, by name or label; relations may all be.
        in_domain: Whether only entities count that train has on that side of the relation, and only relations
            that have both entities there.
        include_known: Whether triples of train, valid and test may be answers.
        memory: Bytes for one chunk of scores.
        progress: Whether to show it.

    Returns:
        Columns query (its number, from 1), head, relation, tail (names), score, rank (from 1) and known.
    """
    numbers = None if candidates is None else resolve_candidates(graph.entities, candidates)
    search = Search(model, graph, top, numbers, in_domain, include_known, memory)
    triples = resolve_queries(graph, queries)
    parts = []
    with track("answering", len(queries), "queries", progress) as tracker:
        for rows in group_equal(number_groups(triples)):
            head, relation, tail = triples[rows[0]].tolist()
            if relation == OPEN:
                parts.append((rows, find_relations(replace(search, candidates=None), head, tail)))
                tracker.advance(1)
            else:
                side: Side = "tail" if tail == OPEN else "head"
                anchors = triples[rows, 0 if side == "tail" else 2]
                parts.append((rows, find_entities(search, relation, side, anchors, tracker)))
    return tabulate(graph, join_found(parts))


def resolve_queries(graph: Graph, queries: Sequence[Query]) -> Triples:
    """Return queries as numbers (n, 3), with OPEN for what is asked."""
    triples = np.full((len(queries), 3), OPEN)
    vocabularies = (graph.entities, graph.relations, graph.entities)
    for row, query in enumerate(queries):
        try:
            names = zip(vocabularies, (query.head, query.relation, query.tail), strict=True)
            triples[row] = [OPEN if name is None else vocabulary.index(name) for vocabulary, name in names]
        except DataError as error:
            raise DataError(f"{query.where or f'query {row + 1}'}: {error}") from None
    return triples


def number_groups(triples: Triples) -> Integers:
    """Return a number for each relation and side that is asked for, and one of its own for each asked relation."""
    relations = triples[:, 1]
    return np.where(relations == OPEN, -1 - np.arange(len(triples)), 2 * relations + (triples[:, 2] == OPEN))


def tabulate(graph: Graph, found: Found) -> pa.Table:
    """Put names to answers, as a table."""
    heads, relations, tails = found.triples.T
    return pa.table(
        {
            "query": found.queries + 1,
            "head": take_names(graph.entities, heads),
            "relation": take_names(graph.relations, relations),
            "tail": take_names(graph.entities, tails),
            "score": found.scores,
            "rank": found.ranks,
            "known": graph.known.contains(found.triples),
        }
    )


def take_names(vocabulary: Vocabulary, numbers: Integers) -> pa.Array:
    """Return the names of these numbers as a column."""
    distinct, places = np.unique(numbers, return_inverse=True)
    names = pa.array([vocabulary.name(number) for number in distinct.tolist()], pa.string())
    return names.take(pa.array(places))
