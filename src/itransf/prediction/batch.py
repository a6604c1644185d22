"""Answers to many queries at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from itransf.data.graph import Graph, Triples
from itransf.data.known import Integers
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError
from itransf.models.base import Model, Side
from itransf.prediction.agreement import Agreement, find_agreement
from itransf.prediction.calibration import Calibration, find_probabilities
from itransf.prediction.inputs import Query, find_splits
from itransf.prediction.predict import (
    DEFAULT_MEMORY,
    Found,
    Search,
    find_entities,
    find_relations,
    join_answers,
    resolve_candidates,
)
from itransf.progress import track

ASKED = -1  # index of the part that a query asks for


def answer_queries(
    model: Model,
    graph: Graph,
    queries: Sequence[Query],
    top: int = 10,
    *,
    candidates: Sequence[str] | None = None,
    typed: bool = True,
    include_known: bool = False,
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
    calibration: Calibration | None = None,
) -> pa.Table:
    """Return the best answers to each query, in the order of the queries.

    Queries are grouped, so that the entity table is projected once per relation and side.

    Args:
        model: Scoring model.
        graph: Graph with the names and the known triples.
        queries: Queries.
        top: Number of answers to each query.
        candidates: Names of the only entities allowed as answers; they do not restrict queries for relations.
        typed: Whether only entities and relations that fit are searched, as in `complete`.
        include_known: Whether training triples may be answers.
        memory: Bytes for one chunk of scores.
        progress: Whether to show a progress bar.
        calibration: Function from scores to probabilities, if there is one.

    Returns:
        Columns query (its number, from 1), head, relation, tail (names), score, rank (from 1), known (a split's
        name, or null) and probability (or null); for an ensemble also those of `Agreement`.
    """
    numbers = None if candidates is None else resolve_candidates(graph.entities, candidates)
    search = Search(model, graph, top, numbers, typed, () if include_known else ("train",), memory)
    triples = resolve_queries(graph, queries)
    parts = []
    with track("answering", len(queries), "queries", progress) as tracker:
        for rows in group_queries(triples):
            head, relation, tail = triples[rows[0]].tolist()
            if relation == ASKED:
                parts.append((rows, find_relations(replace(search, candidates=None), head, tail)))
                tracker.advance(1)
            else:
                side: Side = "tail" if tail == ASKED else "head"
                anchors = triples[rows, 0 if side == "tail" else 2]
                parts.append((rows, find_entities(search, relation, side, anchors, tracker)))
    return tabulate(search, parts, triples == ASKED, calibration)


def resolve_queries(graph: Graph, queries: Sequence[Query]) -> Triples:
    """Return queries as indices (n, 3), with ASKED for the part asked for."""
    triples = np.full((len(queries), 3), ASKED)
    vocabularies = (graph.entities, graph.relations, graph.entities)
    for row, query in enumerate(queries):
        try:
            names = zip(vocabularies, (query.head, query.relation, query.tail), strict=True)
            triples[row] = [ASKED if name is None else vocabulary.index(name) for vocabulary, name in names]
        except DataError as error:
            raise DataError(f"{query.where or f'query {row + 1}'}: {error}") from None
    return triples


def group_queries(triples: Triples) -> list[Integers]:
    """Return the rows of each relation and side that is asked for; each query for a relation is a group of its own."""
    relations = triples[:, 1]
    keys = np.where(relations == ASKED, -1 - np.arange(len(triples)), 2 * relations + (triples[:, 2] == ASKED))
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if len(order) else []


def tabulate(
    search: Search,
    parts: Sequence[tuple[Integers, Found]],
    asked: npt.NDArray[np.bool_],
    calibration: Calibration | None,
) -> pa.Table:
    """Return the answers of groups of queries as a table, in the order of the queries.

    Args:
        search: Settings of the search.
        parts: Rows of each group's queries, and the answers to them.
        asked: Which part each query asks for, (q, 3).
        calibration: Function from scores to probabilities, if there is one.
    """
    model, graph = search.model, search.graph
    found = join_answers(replace(answers, queries=rows[answers.queries]) for rows, answers in parts)
    order = np.lexsort((found.ranks, found.queries))
    triples = found.triples[order]
    heads, relations, tails = triples.T
    asks_head, asks_relation, _ = asked[found.queries[order]].T
    agreed = find_agreement(model, graph, triples, asks_head, search.memory)
    chances = np.array(find_probabilities(calibration, model, graph, triples, asks_head, search.memory), dtype=object)
    between = triples[asks_relation]
    chances[asks_relation] = find_probabilities(calibration, model, graph, between, memory=search.memory)
    return pa.table(
        {
            "query": found.queries[order] + 1,
            "head": take_names(graph.entities, heads),
            "relation": take_names(graph.relations, relations),
            "tail": take_names(graph.entities, tails),
            "score": found.scores[order],
            "rank": found.ranks[order],
            "known": pa.array(find_splits(graph, triples), pa.string()),
            "probability": pa.array(chances.tolist(), pa.float64()),
            **{
                entry.name: [getattr(each, entry.name) for each in agreed] for entry in fields(Agreement) if any(agreed)
            },
        }
    )


def take_names(vocabulary: Vocabulary, numbers: Integers) -> pa.Array:
    """Return the names of these indices as a column."""
    distinct, places = np.unique(numbers, return_inverse=True)
    names = pa.array([vocabulary.name(number) for number in distinct.tolist()], pa.string())
    return names.take(pa.array(places))
