"""Answers to many queries at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np
import pyarrow as pa

from itransf.data.graph import Graph, Triples
from itransf.data.known import Integers
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError
from itransf.models.base import Model
from itransf.prediction.agreement import Agreement, find_agreement
from itransf.prediction.calibration import Calibration, find_probabilities
from itransf.prediction.inputs import ASKED, Query, find_splits, number_names
from itransf.prediction.predict import resolve_candidates
from itransf.prediction.search import DEFAULT_MEMORY, Search, find_answers
from itransf.progress import track


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
    excluded = () if include_known else ("train",)
    search = Search(model, graph, top, numbers, typed=typed, excluded=excluded, memory=memory)
    triples = resolve_queries(graph, queries)
    with track("answering", len(queries), "queries", progress) as tracker:
        found = find_answers(search, triples, tracker)
    asked = (triples == ASKED)[found.queries]
    agreed = find_agreement(search, found.triples, asked)
    heads, relations, tails = found.triples.T
    return pa.table(
        {
            "query": found.queries + 1,
            "head": take_names(graph.entities, heads),
            "relation": take_names(graph.relations, relations),
            "tail": take_names(graph.entities, tails),
            "score": found.scores,
            "rank": found.ranks,
            "known": pa.array(find_splits(graph, found.triples), pa.string()),
            "probability": pa.array(find_probabilities(calibration, search, found.triples, asked), pa.float64()),
            **{
                entry.name: [getattr(each, entry.name) for each in agreed] for entry in fields(Agreement) if any(agreed)
            },
        }
    )


def resolve_queries(graph: Graph, queries: Sequence[Query]) -> Triples:
    """Return queries as indices (n, 3), with ASKED for the part asked for."""
    triples = np.full((len(queries), 3), ASKED)
    for row, query in enumerate(queries):
        try:
            triples[row] = number_names(graph, (query.head, query.relation, query.tail))
        except DataError as error:
            raise DataError(f"{query.where or f'query {row + 1}'}: {error}") from None
    return triples


def take_names(vocabulary: Vocabulary, numbers: Integers) -> pa.Array:
    """Return the names of these indices as a column."""
    distinct, places = np.unique(numbers, return_inverse=True)
    names = pa.array([vocabulary.name(number) for number in distinct.tolist()], pa.string())
    return names.take(pa.array(places))
