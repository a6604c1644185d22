"""Completing a triple: the most plausible tails, heads, relations, or whole triples of a relation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from itransf.data.graph import Graph
from itransf.data.known import Integers
from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, DataError
from itransf.models.base import Model
from itransf.prediction.answers import Found, LabelledTriple, name_triple
from itransf.prediction.discovery import find_pairs
from itransf.prediction.searching import DEFAULT_MEMORY, Search, find_entities, find_relations
from itransf.progress import Tracker


@dataclass(frozen=True)
class Prediction(LabelledTriple):
    """A triple the model thinks plausible.

    Attributes:
        score: Its plausibility: higher is better, and scores of one relation can be compared.
        rank: Its place in the list, from 1.
        known: Whether the triple is in train, valid or test.
    """

    score: float
    rank: int
    known: bool


def complete(
    model: Model,
    graph: Graph,
    head: str | None = None,
    relation: str | None = None,
    tail: str | None = None,
    *,
    top: int = 10,
    candidates: Sequence[str] | None = None,
    in_domain: bool | None = None,
    include_known: bool = False,
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
) -> list[Prediction]:
    """Return the most plausible triples that complete what is given, best first; equal scores by number.

    Head and relation ask for tails, relation and tail for heads, head and tail for relations. A relation
    alone asks for its most plausible triples, by default among the entities of its own domain. A triple whose
    head is its tail is no answer unless train has such triples of the relation. Labels may stand for names.

    Args:
        model: What scores.
        graph: The names, and the triples that are known.
        head: The given head.
        relation: The given relation.
        tail: The given tail.
        top: How many answers.
        candidates: The only answers that count: entities (for a relation alone, both ends must be among
            them), or relations where head and tail are given.
        in_domain: Whether only entities count that train has on that side of the relation (for a relation
            alone, on both); where head and tail are given, only relations that have the two there. If not
            given: true for a relation alone, where most pairs of all entities make no sense, and false otherwise.
        include_known: Whether triples of train, valid and test may be answers.
        memory: Bytes for one chunk of scores.
        progress: Whether to show the progress of searching a whole relation.
    """
    check_question(head, relation, tail)
    pool = graph.relations if relation is None else graph.entities
    numbers = None if candidates is None else resolve_candidates(pool, candidates)
    if in_domain is None:
        in_domain = head is None and tail is None
    search = Search(model, graph, top, numbers, in_domain, include_known, memory)
    if relation is None:
        ends = (graph.entities.index(name) for name in (head, tail) if name is not None)
        return describe(graph, find_relations(search, *ends))
    asked = graph.relations.index(relation)
    anchor = head if tail is None else tail
    if anchor is None:
        return describe(graph, find_pairs(search, asked, progress))
    anchors = np.array([graph.entities.index(anchor)])
    tracker = Tracker("answering", 1, "queries")  # a single query is too short to be watched
    return describe(graph, find_entities(search, asked, "tail" if tail is None else "head", anchors, tracker))


def check_question(head: str | None, relation: str | None, tail: str | None) -> None:
    """Refuse a question that asks for nothing, or for too much."""
    cure = "give head and relation, relation and tail, head and tail, or a relation alone"
    given = [word for word, name in (("head", head), ("tail", tail)) if name is not None]
    if relation is not None and len(given) == 2:
        raise ConfigError(f"head, relation and tail together leave nothing to predict; {cure}, or score the triple")
    if relation is None and len(given) < 2:
        what = f"only a {given[0]} is" if given else "nothing is"
        raise ConfigError(f"{what} given, which is too little to predict from; {cure}")


def resolve_candidates(vocabulary: Vocabulary, candidates: Sequence[str]) -> Integers:
    """Return the numbers of named candidates, ascending, each once."""
    if isinstance(candidates, str) or not isinstance(candidates, Iterable):
        raise ConfigError(f"candidates must be a list of names, not {candidates!r}")
    numbers = []
    for place, name in enumerate(candidates, start=1):
        try:
            numbers.append(vocabulary.index(name))
        except DataError as error:
            raise DataError(f"candidate {place}: {error}") from None
    return np.unique(np.array(numbers, dtype=np.int64))


def describe(graph: Graph, found: Found) -> list[Prediction]:
    """Put names to the answers of a single query."""
    known = graph.known.contains(found.triples).tolist()
    rows = zip(found.triples.tolist(), found.scores.tolist(), found.ranks.tolist(), known, strict=True)
    return [Prediction(*name_triple(graph, triple), score, rank, known) for triple, score, rank, known in rows]
