"""Answering many queries at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from itransf.data.graph import Graph
from itransf.data.sorting import Integers
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError
from itransf.models.base import SIDES, Model
from itransf.prediction.answers import Found, group_equal, join_found
from itransf.prediction.completion import resolve_candidates
from itransf.prediction.queries import Query
from itransf.prediction.searching import DEFAULT_MEMORY, Search, find_entities
from itransf.progress import track


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
        graph: The names, and the facts that are known.
        queries: What is asked.
        top: How many answers to each.
        candidates: The only entities that may be answers, by name or label.
        in_domain: Whether only entities count that train has on that side of the relation.
        include_known: Whether facts of train, valid and test may be answers.
        memory: Bytes for one chunk of scores.
        progress: Whether to show it.

    Returns:
        Columns query (its number, from 1), head, relation, tail (names), score, rank (from 1) and known.
    """
    numbers = None if candidates is None else resolve_candidates(graph.entities, candidates)
    search = Search(model, graph, top, numbers, in_domain, include_known, memory)
    keys, anchors = resolve_queries(graph, queries)
    parts = []
    with track("answering", len(queries), "queries", progress) as tracker:
        for rows in group_equal(keys):
            relation, side = divmod(int(keys[rows[0]]), len(SIDES))
            parts.append((rows, find_entities(search, relation, SIDES[side], anchors[rows], tracker)))
    return tabulate(graph, join_found(parts))


def resolve_queries(graph: Graph, queries: Sequence[Query]) -> tuple[Integers, Integers]:
    """Return a number for each query's relation and side (relation x 2 + side), and its given entity."""
    keys, anchors = np.empty(len(queries), dtype=np.int64), np.empty(len(queries), dtype=np.int64)
    for row, query in enumerate(queries):
        try:
            keys[row] = graph.relations.index(query.relation) * len(SIDES) + SIDES.index(query.side)
            anchors[row] = graph.entities.index(query.anchor)
        except DataError as error:
            raise DataError(f"{query.where or f'query {row + 1}'}: {error}") from None
    return keys, anchors


def tabulate(graph: Graph, found: Found) -> pa.Table:
    """Put names to answers, as a table."""
    heads, relations, tails = found.facts.T
    return pa.table(
        {
            "query": found.queries + 1,
            "head": take_names(graph.entities, heads),
            "relation": take_names(graph.relations, relations),
            "tail": take_names(graph.entities, tails),
            "score": found.scores,
            "rank": found.ranks,
            "known": graph.known.contains(found.facts),
        }
    )


def take_names(vocabulary: Vocabulary, numbers: Integers) -> pa.Array:
    """Return the names of these numbers as a column."""
    distinct, places = np.unique(numbers, return_inverse=True)
    names = pa.array([vocabulary.name(number) for number in distinct.tolist()], pa.string())
    return names.take(pa.array(places))
