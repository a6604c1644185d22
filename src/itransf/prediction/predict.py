"""Link prediction: the most plausible tails, heads, relations, or whole triples of a relation; many queries at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from itransf.data import Booleans, Graph, Integers, Triples, Vocabulary
from itransf.data.layout import TRIPLE
from itransf.errors import ConfigError
from itransf.evaluation import rank_as_predicted
from itransf.models import SIDES, Ensemble, Model, Side
from itransf.prediction.calibration import Calibration, find_probabilities
from itransf.prediction.inputs import ASKED, LabelledTriple, Query, find_splits, name_triple, number_names, resolve_each
from itransf.prediction.search import Search, find_answers, find_pairs, make_triples
from itransf.progress import track

AGREED = 10
"""The rank up to which a member agrees with an answer."""


@dataclass(frozen=True)
class Agreement:
    """How the members of an ensemble rank an answer.

    A rank is that of `score_triples`: among the entities that fit and whose triple is not known, of the head where
    heads are asked for, else of the tail.

    Attributes:
        agree: Number of members that rank it among their ten best.
        seeds: Number of members.
        best_rank: The best rank that a member gives it.
        worst_rank: The worst.
    """

    agree: int
    seeds: int
    best_rank: float
    worst_rank: float

    def describe(self, answer: str) -> str:
        """Return "4 of 5 seeds rank Lisbon among their ten best (ranks 1 to 12)"."""
        ranks = f"{self.best_rank:,g} to {self.worst_rank:,g}"
        return f"{self.agree} of {self.seeds} seeds rank {answer} among their ten best (ranks {ranks})"


def find_agreement(search: Search, triples: Triples, asked: Booleans) -> list[Agreement | None]:
    """Return how the members of an ensemble rank answers; None for each if the model is another one.

    Args:
        search: Model and graph.
        triples: Answers, (n, 3).
        asked: Which parts of each were asked for, (n, 3).
    """
    if not isinstance(search.model, Ensemble):
        return [None] * len(triples)
    asks_head = asked[:, 0] & ~asked[:, 2]
    sides = [side for side in SIDES if (asks_head == (side == "head")).any()]
    options: dict[str, Any] = {"keep_scores": True, "sides": sides}
    found = [rank_as_predicted(each, search.graph, triples, search.memory, **options) for each in search.model.members]
    ranks = np.stack([np.where(asks_head, each.ranks("head"), each.ranks("tail")) for each in found])  # (m, n)
    columns = ((ranks <= AGREED).sum(axis=0), ranks.min(axis=0), ranks.max(axis=0))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [Agreement(agree, len(found), best, worst) for agree, best, worst in rows]


@dataclass(frozen=True)
class Prediction(LabelledTriple):
    """A predicted triple.

    Attributes:
        score: Plausibility: higher is better; comparable within a relation.
        rank: Position in the list, from 1.
        known: First split that contains the triple ("train", "valid" or "test"), or None.
        probability: Chance that it is a missing answer, if the query has one; None for what `find_probabilities` names.
        agreement: How the members of an ensemble rank it; None for other models.
    """

    score: float
    rank: int
    known: str | None
    probability: float | None = None
    agreement: Agreement | None = None


def complete(
    model: Model,
    graph: Graph,
    head: str | None = None,
    relation: str | None = None,
    tail: str | None = None,
    *,
    top: int = 10,
    candidates: Sequence[str] | None = None,
    typed: bool = True,
    include_known: bool = False,
    more: bool = True,
    progress: bool = False,
    calibration: Calibration | None = None,
) -> list[Prediction]:
    """Return the most plausible triples that complete a query, best first; equal scores by index.

    Head and relation ask for tails, relation and tail for heads, head and tail for relations. A relation alone asks
    for its most plausible triples. Answers fit the sides of their relation (`graph.typing`). Training triples are not
    answers, and neither are self-loops unless half of the relation in train are; triples of valid and test are, and
    marked. Names and labels are accepted.

    Args:
        model: Scoring model.
        graph: Graph with the names and the known triples.
        head: Name of the head.
        relation: Name of the relation.
        tail: Name of the tail.
        top: Number of answers.
        candidates: Names of the only answers allowed, whether they fit or not: entities (for a relation alone, both
            ends), or relations where head and tail are given.
        typed: Whether only entities that fit that side of the relation are searched (for a relation alone, both
            sides), or relations whose sides head and tail fit; otherwise all are.
        include_known: Whether training triples may be answers.
        more: Whether to give other answers where a relation allows one and train has it (see `find_only_answers`).
        progress: Whether to show a progress bar while a whole relation is searched.
        calibration: Function from scores to probabilities; by default that of the run.

    Raises:
        DataError: A name is not known.
        ConfigError: The query asks for nothing, or for too much.
    """
    check_query(head, relation, tail)
    pool = graph.relations if relation is None else graph.entities
    numbers = None if candidates is None else resolve_candidates(pool, candidates)
    query = np.array(number_names(graph, (head, relation, tail), is_query=True))
    if not more and find_only_answers(graph, head, relation, tail):
        return []
    allowed: dict[str, Any] = {"relations" if relation is None else "candidates": numbers}
    excluded = () if include_known else ("train",)
    search = Search(model, graph, top, typed=typed, excluded=excluded, more=more, **allowed)
    is_pair = head is None and tail is None
    found = find_pairs(search, int(query[1]), progress) if is_pair else find_answers(search, query[None])
    asked = np.tile(query == ASKED, (len(found.triples), 1))
    columns = (
        *(found.scores.tolist(), found.ranks.tolist(), find_splits(graph, found.triples)),
        find_probabilities(calibration, search, found.triples, asked),
        find_agreement(search, found.triples, asked),
    )
    rows = zip(found.triples.tolist(), *columns, strict=True)
    return [Prediction(*name_triple(graph, triple), *rest) for triple, *rest in rows]


def find_only_answers(
    graph: Graph, head: str | None = None, relation: str | None = None, tail: str | None = None
) -> list[LabelledTriple]:
    """Return the training triples that answer a query, if its relation allows one answer, such as a capital.

    It does if at least 95 % of its heads in train have one tail or, where heads are asked for, of its tails one head.

    Args:
        graph: Graph with the names and the training triples.
        head: Name of the head, where the tail is asked for.
        relation: Name of the relation.
        tail: Name of the tail, where the head is asked for.
    """
    if relation is None or (head is None) == (tail is None):
        return []
    side: Side = "head" if head is None else "tail"
    numbers = number_names(graph, (head, relation, tail), is_query=True)
    given, number = numbers[0 if side == "tail" else 2], numbers[1]
    if not (graph.statistics.one_head if side == "head" else graph.statistics.one_tail)[number]:
        return []
    _, answers = graph.known_in("train").answers(given, number, side)
    triples = make_triples(np.full_like(answers, given), number, answers, side)
    return [LabelledTriple(*name_triple(graph, triple)) for triple in triples.tolist()]


def check_query(head: str | None, relation: str | None, tail: str | None) -> None:
    """Refuse a query that asks for nothing, or for too much."""
    advice = "give head and relation, relation and tail, head and tail, or a relation alone"
    given = [word for word, name in (("head", head), ("tail", tail)) if name is not None]
    if relation is not None and len(given) == 2:
        raise ConfigError(f"head, relation and tail together leave nothing to predict; {advice}, or score the triple")
    if relation is None and len(given) < 2:
        what = f"only a {given[0]} is" if given else "nothing is"
        raise ConfigError(f"{what} given, which is too little to predict from; {advice}")


def resolve_candidates(vocabulary: Vocabulary, candidates: Sequence[str]) -> Integers:
    """Return the distinct indices of named candidates, ascending."""
    if isinstance(candidates, str) or not isinstance(candidates, Iterable):
        raise ConfigError(f"candidates must be a list of names, not {candidates!r}")
    numbers = resolve_each(candidates, vocabulary.index, lambda row: f"candidate {row + 1}")
    return np.unique(np.array(numbers, dtype=np.int64))


def answer_queries(
    model: Model,
    graph: Graph,
    queries: Sequence[Query],
    top: int = 10,
    *,
    candidates: Sequence[str] | None = None,
    typed: bool = True,
    include_known: bool = False,
    more: bool = True,
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
        more: Whether to give other answers where a relation allows one and train has it (see `find_only_answers`).
        progress: Whether to show a progress bar.
        calibration: Function from scores to probabilities, if there is one.

    Returns:
        Columns query (its number, from 1), head, relation, tail (names), head_label, relation_label, tail_label, score,
        rank (from 1), known (a split's name, or null) and probability (or null); for an ensemble also those of
        `Agreement`.
    """
    numbers = None if candidates is None else resolve_candidates(graph.entities, candidates)
    excluded = () if include_known else ("train",)
    search = Search(model, graph, top, numbers, typed=typed, excluded=excluded)
    names = [(query.head, query.relation, query.tail) for query in queries]
    number = partial(number_names, graph, is_query=True)
    rows = resolve_each(names, number, lambda row: queries[row].where or f"query {row + 1}")
    triples = np.array(rows, dtype=np.int64).reshape(-1, 3)
    ranked = [row for row, asked in enumerate(names) if more or not find_only_answers(graph, *asked)]
    with track("answering", len(ranked), "queries", progress) as tracker:
        found = find_answers(search, triples[ranked], tracker)
    found = replace(found, queries=np.array(ranked, dtype=np.int64)[found.queries])
    asked = (triples == ASKED)[found.queries]
    agreed = find_agreement(search, found.triples, asked)
    vocabularies, numbers = (graph.entities, graph.relations, graph.entities), found.triples.T.tolist()
    named = {
        part + ending: pa.array([getattr(vocabulary, what)(number) for number in own], pa.string())
        for ending, what in (("", "name"), ("_label", "label"))
        for part, vocabulary, own in zip(TRIPLE, vocabularies, numbers, strict=True)
    }
    return pa.table(
        {
            "query": found.queries + 1,
            **named,
            "score": found.scores,
            "rank": found.ranks,
            "known": pa.array(find_splits(graph, found.triples), pa.string()),
            "probability": pa.array(find_probabilities(calibration, search, found.triples, asked), pa.float64()),
            **{
                entry.name: [getattr(each, entry.name) for each in agreed] for entry in fields(Agreement) if any(agreed)
            },
        }
    )
