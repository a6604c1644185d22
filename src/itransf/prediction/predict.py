"""Link prediction: the most plausible tails, heads, relations, or whole triples of a relation, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Graph, Triples
from itransf.data.known import Integers, is_among, sort_distinct
from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, DataError, check_count
from itransf.evaluation.ranking import refuse_nan
from itransf.models.base import Model, Side
from itransf.prediction.agreement import Agreement, find_agreement
from itransf.prediction.calibration import Calibration, find_probabilities
from itransf.prediction.chunks import BYTES_PER_SCORE, DEFAULT_MEMORY, EXCLUDED, exclude, split_rows
from itransf.prediction.inputs import LabelledTriple, find_splits, name_triple
from itransf.progress import Tracker, track

__all__ = ["BYTES_PER_SCORE", "DEFAULT_MEMORY", "EXCLUDED", "Found", "Prediction", "Search", "complete", "split_rows"]

Best = tuple[Tensor, Tensor, Tensor]
"""Scores, heads and columns of the best triples so far, each (k,), best first."""


@dataclass(frozen=True)
class Prediction(LabelledTriple):
    """A predicted triple.

    Attributes:
        score: Plausibility: higher is better; comparable within a relation.
        rank: Position in the list, from 1.
        known: First split that contains the triple ("train", "valid" or "test"), or None.
        probability: Chance that it is true, if the run has a calibration and the answer fits and is not in train.
        agreement: How the members of an ensemble rank it; None for other models.
    """

    score: float
    rank: int
    known: str | None
    probability: float | None = None
    agreement: Agreement | None = None


@dataclass(frozen=True)
class Found:
    """Answers in the order of the queries, best first within each query.

    Attributes:
        queries: Number of the query that each answers, from 0, (n,).
        ranks: Position among the query's answers, from 1, (n,).
        triples: Completed triples, (n, 3).
        scores: Their plausibility, (n,).
    """

    queries: Integers
    ranks: Integers
    triples: Triples
    scores: npt.NDArray[np.floating]


@dataclass(frozen=True)
class Search:
    """Settings of a search for answers.

    Attributes:
        model: Scoring model.
        graph: Graph with the known triples.
        top: Number of answers to each query.
        candidates: The only entities (relations, where those are asked for) allowed, ascending; None: see `typed`.
        typed: Whether, without `candidates`, only entities and relations that fit are allowed; otherwise all are.
        excluded: Splits whose triples are no answers.
        more: Whether, among whole triples, those may be whose head or tail has its only answer in train.
        memory: Bytes for one chunk of scores.
    """

    model: Model
    graph: Graph
    top: int = 10
    candidates: Integers | None = None
    typed: bool = True
    excluded: Sequence[str] = ("train",)
    memory: int = DEFAULT_MEMORY
    more: bool = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("top", "memory"):
            object.__setattr__(self, name, check_count(name, getattr(self, name), least=1))

    def allow_entities(self, relation: int, side: Side) -> Integers | None:
        """Return the entities allowed on `side` of the relation, ascending; None: all."""
        if self.candidates is not None or not self.typed:
            return self.candidates
        return self.graph.typing.candidates(relation, side)

    def allow_ends(self, relation: int, side: Side) -> Integers | None:
        """Return the entities allowed on `side` of whole triples: without `more`, those that have no only answer."""
        allowed, statistics = self.allow_entities(relation, side), self.graph.statistics
        if self.more or not (statistics.one_tail if side == "head" else statistics.one_head)[relation]:
            return allowed
        known = np.concatenate([self.graph.split(split) for split in self.excluded])
        answered = sort_distinct(known[known[:, 1] == relation, 0 if side == "head" else 2])
        allowed = np.arange(self.model.sizes.entities) if allowed is None else allowed
        return allowed[~is_among(allowed, answered)]

    def allow_relations(self, head: int, tail: int) -> Integers:
        """Return the relations allowed between two entities, ascending."""
        if self.candidates is not None:
            return self.candidates
        return self.graph.typing.relations(head, tail) if self.typed else np.arange(self.model.sizes.relations)

    def score_chunks(
        self, relation: int, side: Side, anchors: Integers, allowed: Integers | None
    ) -> Iterator[tuple[Integers, Tensor]]:
        """Yield the anchors in chunks with the scores (q, n) of the allowed entities.

        Triples of the excluded splits are no answers, and neither are self-loops unless the relation has some in train.
        """
        device = next(self.model.parameters()).device
        width = self.model.sizes.entities if allowed is None else len(allowed)
        if width == 0 or len(anchors) == 0:
            return
        pool = self.model.pool(None if allowed is None else torch.tensor(allowed, device=device))
        scorer = self.model.scorer(relation, side, pool)
        known = self.graph.known_in(*self.excluded)
        for part in split_rows(anchors, width, self.memory):
            scores = refuse_nan(scorer(torch.tensor(part, device=device)))
            rows = np.arange(len(part))
            offsets, answers = known.tails(part, relation) if side == "tail" else known.heads(relation, part)
            exclude(scores, np.repeat(rows, np.diff(offsets)), answers, allowed)
            if not self.graph.statistics.has_loops[relation]:
                exclude(scores, rows, part, allowed)
            yield part, scores


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
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
    calibration: Calibration | None = None,
) -> list[Prediction]:
    """Return the most plausible triples that complete a query, best first; equal scores by index.

    Head and relation ask for tails, relation and tail for heads, head and tail for relations. A relation alone asks
    for its most plausible triples. Answers fit the sides of their relation (`graph.typing`). Training triples are not
    answers, and neither are self-loops unless the relation has some in train; triples of valid and test are, and
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
        memory: Bytes for one chunk of scores.
        progress: Whether to show a progress bar while a whole relation is searched.
        calibration: Function from scores to probabilities; by default that of the run.

    Raises:
        DataError: A name is not known.
        ConfigError: The query asks for nothing, or for too much.
    """
    check_query(head, relation, tail)
    pool = graph.relations if relation is None else graph.entities
    numbers = None if candidates is None else resolve_candidates(pool, candidates)
    if not more and find_only_answers(graph, head, relation, tail):
        return []
    search = Search(model, graph, top, numbers, typed, () if include_known else ("train",), memory, more)
    side: Side = "head" if head is None and tail is not None else "tail"
    if relation is None:
        ends = (graph.entities.index(name) for name in (head, tail) if name is not None)
        found = find_relations(search, *ends)
    elif head is None and tail is None:
        found = find_pairs(search, graph.relations.index(relation), progress)
    else:
        asked = graph.relations.index(relation)
        anchor = np.array([graph.entities.index(name) for name in (head, tail) if name is not None])
        found = find_entities(search, asked, side, anchor, Tracker("answering", 1, "queries"))
    known = find_splits(graph, found.triples)
    agreed = find_agreement(model, graph, found.triples, np.full(len(known), side == "head"), search.memory)
    asks_head = None if (head is None) == (tail is None) else np.full(len(known), side == "head")
    chances = find_probabilities(calibration, model, graph, found.triples, asks_head, search.memory)
    columns = (found.scores.tolist(), found.ranks.tolist(), known, chances, agreed)
    rows = zip(found.triples.tolist(), *columns, strict=True)
    return [Prediction(*name_triple(graph, triple), *rest) for triple, *rest in rows]


def find_only_answers(
    graph: Graph, head: str | None = None, relation: str | None = None, tail: str | None = None
) -> list[LabelledTriple]:
    """Return the training triples that answer a query, if its relation allows one answer, such as a capital.

    It does if at least 95 % of the heads (where heads are asked for: of the tails) that train has have one answer.

    Args:
        graph: Graph with the names and the training triples.
        head: Name of the head, where the tail is asked for.
        relation: Name of the relation.
        tail: Name of the tail, where the head is asked for.
    """
    given = tail if head is None else head
    if relation is None or given is None or (head is not None and tail is not None):
        return []
    number, subject, known = graph.relations.index(relation), graph.entities.index(given), graph.known_in("train")
    if not (graph.statistics.one_head if head is None else graph.statistics.one_tail)[number]:
        return []
    answers = (known.heads(number, subject) if head is None else known.tails(subject, number))[1].tolist()
    triples = [(answer, number, subject) if head is None else (subject, number, answer) for answer in answers]
    return [LabelledTriple(*name_triple(graph, triple)) for triple in triples]


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
    numbers = []
    for place, name in enumerate(candidates, start=1):
        try:
            numbers.append(vocabulary.index(name))
        except DataError as error:
            raise DataError(f"candidate {place}: {error}") from None
    return np.unique(np.array(numbers, dtype=np.int64))


@torch.no_grad()
def find_entities(search: Search, relation: int, side: Side, anchors: Integers, tracker: Tracker) -> Found:
    """Find the best entities on `side` of the relation for each anchor on the other side."""
    allowed = search.allow_entities(relation, side)
    parts, done = [], 0
    for part, chunk in search.score_chunks(relation, side, anchors, allowed):
        best, columns = (tensor.cpu().numpy() for tensor in select_best(chunk, search.top))
        rows, places = np.nonzero(best != EXCLUDED)
        chosen = columns[rows, places]
        answers = chosen if allowed is None else allowed[chosen]
        given, relations = part[rows], np.full(len(rows), relation)
        ends = (given, relations, answers) if side == "tail" else (answers, relations, given)
        parts.append(Found(rows + done, places + 1, np.stack(ends, axis=1), best[rows, places]))
        done += len(part)
        tracker.advance(len(part))
    tracker.advance(len(anchors) - done)
    return join_answers(parts)


@torch.no_grad()
def find_relations(search: Search, head: int, tail: int) -> Found:
    """Find the best relations between two entities."""
    relations = search.allow_relations(head, tail)
    triples = np.stack([np.full(len(relations), head), relations, np.full(len(relations), tail)], axis=1)
    triples = triples[~search.graph.known_in(*search.excluded).contains(triples)]
    if not len(triples):
        return join_answers(())
    device = next(search.model.parameters()).device
    # Each relation may need matrices of its own (d, d): two, and copies of them.
    width = 2 * getattr(search.model.config, "dim", 1) ** 2
    parts = [
        search.model.score(*torch.tensor(triples[rows], device=device).unbind(1))
        for rows in split_rows(np.arange(len(triples)), width, search.memory)
    ]
    best, order = select_best(refuse_nan(torch.cat(parts))[None], search.top)
    return number_answers(triples[order[0].cpu().numpy()], best[0].cpu().numpy())


@torch.no_grad()
def find_pairs(search: Search, relation: int, progress: bool = False) -> Found:
    """Find the best triples of a relation over all heads and tails, keeping only the best so far."""
    heads, tails = search.allow_ends(relation, "head"), search.allow_ends(relation, "tail")
    anchors = np.arange(search.model.sizes.entities) if heads is None else heads
    best: Best | None = None
    title = f"searching {search.graph.relations.label(relation)}"
    with track(title, len(anchors), "heads", progress) as tracker:
        for part, scores in search.score_chunks(relation, "tail", anchors, tails):
            best = merge_best(best, torch.from_numpy(part).to(scores.device), scores, search.top)
            tracker.advance(len(part))
    if best is None:
        return join_answers(())
    values, chosen_heads, columns = (tensor.cpu().numpy() for tensor in best)
    kept = values != EXCLUDED
    chosen_tails = columns[kept] if tails is None else tails[columns[kept]]
    triples = np.stack([chosen_heads[kept], np.full(len(chosen_tails), relation), chosen_tails], axis=1)
    return number_answers(triples, values[kept])


def merge_best(best: Best | None, heads: Tensor, scores: Tensor, top: int) -> Best:
    """Return the best of the triples so far and of those of new heads (q,), with scores (q, n).

    Heads come in ascending order, so among equal scores the earlier ones stay in front.
    """
    worst_kept = best[0][-1] if best is not None and len(best[0]) == top else EXCLUDED
    rows = (scores.amax(1) > worst_kept).nonzero().squeeze(1)  # no other row can contribute
    values, columns = select_best(scores[rows], top)  # (q', top')
    owners = heads[rows, None].expand_as(columns)
    new = (values.flatten(), owners.flatten(), columns.flatten())
    if best is not None:
        new = (torch.cat([best[0], new[0]]), torch.cat([best[1], new[1]]), torch.cat([best[2], new[2]]))
    kept, order = select_best(new[0][None], top)  # (1, k)
    return kept[0], new[1][order[0]], new[2][order[0]]


def number_answers(triples: Triples, scores: npt.NDArray[np.floating]) -> Found:
    """Return the answers to a single query."""
    return Found(np.zeros(len(triples), dtype=np.int64), np.arange(1, len(triples) + 1), triples, scores)


def join_answers(parts: Iterable[Found]) -> Found:
    """Return the answers of several searches one after another."""
    nothing = number_answers(np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.float32))
    columns = zip(*((each.queries, each.ranks, each.triples, each.scores) for each in (nothing, *parts)), strict=True)
    return Found(*(np.concatenate(column) for column in columns))


def select_best(scores: Tensor, top: int) -> tuple[Tensor, Tensor]:
    """Return the best scores of each row and their columns, best first, equal scores by column.

    Args:
        scores: Scores (q, n) without NaN.
        top: Number of columns to select, at most n.

    Returns:
        Scores and columns, both (q, min(top, n)).
    """
    top = min(top, scores.shape[1])
    if top == 0 or scores.shape[0] == 0:
        return scores[:, :top], torch.zeros_like(scores[:, :top], dtype=torch.int64)
    # topk may take any of several equal scores, so it only gives the lowest score that is selected.
    last = scores.topk(top, dim=1).values[:, -1:]  # (q, 1)
    chosen = scores >= last
    if int(chosen.sum()) > top * len(scores):
        tied = scores == last
        missing = top - (scores > last).sum(1, keepdim=True)  # places left for those with the lowest score
        chosen &= ~tied | (tied.cumsum(1, dtype=torch.int32) <= missing)
    columns = chosen.nonzero()[:, 1].view(-1, top)  # ascending in each row
    best, order = scores.gather(1, columns).sort(dim=1, descending=True, stable=True)
    return best, columns.gather(1, order)
