"""Search for answers: scores of candidates in chunks that fit the memory, and the best of them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data import Graph, Integers, KnownIndex, Triples, is_among, sort_distinct
from itransf.data.typing import SIDE_NUMBERS
from itransf.errors import check_count
from itransf.evaluation.ranking import refuse_nan
from itransf.models.base import Model, Side
from itransf.prediction.inputs import ASKED
from itransf.progress import Tracker, track

DEFAULT_MEMORY = 256 * 2**20  # bytes for one chunk of scores
BYTES_PER_SCORE = 24  # a float32 score, and the temporary memory to compute and select it
EXCLUDED = -torch.inf  # score of an entity that may not be an answer
QUIET = Tracker("", 0, "")

Best = tuple[Tensor, Tensor]
"""Scores of the best triples so far, and their places in the table of all heads and tails, each (k,), best first."""


@dataclass(frozen=True)
class Search:
    """Settings of a search for answers.

    Attributes:
        model: Scoring model.
        graph: Graph with the known triples.
        top: Number of answers to each query.
        candidates: The only entities allowed, ascending; None: see `typed`.
        relations: The only relations allowed, likewise.
        typed: Whether, without `candidates`, only entities and relations that fit are allowed; otherwise all are.
        excluded: Splits whose triples are not answers.
        memory: Bytes for one chunk of scores.
        more: Whether whole triples may have a head or tail whose only answer is in train.
    """

    model: Model
    graph: Graph
    top: int = 10
    candidates: Integers | None = None
    relations: Integers | None = None
    typed: bool = True
    excluded: Sequence[str] = ("train",)
    memory: int = field(default_factory=lambda: DEFAULT_MEMORY)
    more: bool = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("top", "memory"):
            object.__setattr__(self, name, check_count(name, getattr(self, name), least=1))

    def allow_entities(self, relation: int, side: Side) -> Integers:
        """Return the entities allowed on `side` of the relation, ascending."""
        if self.candidates is not None:
            return self.candidates
        return self.graph.typing.candidates(relation, side) if self.typed else np.arange(self.model.sizes.entities)

    def allow_ends(self, relation: int, side: Side) -> Integers:
        """Return the entities allowed on `side` of whole triples: without `more`, those that have no only answer."""
        allowed, statistics = self.allow_entities(relation, side), self.graph.statistics
        if self.more or not (statistics.one_tail if side == "head" else statistics.one_head)[relation]:
            return allowed
        known = np.concatenate([self.graph.train[:0], *(self.graph.split(split) for split in self.excluded)])
        answered = sort_distinct(known[known[:, 1] == relation, 2 * SIDE_NUMBERS[side]])
        return allowed[~is_among(allowed, answered)]

    def allow_relations(self, head: int, tail: int) -> Integers:
        """Return the relations allowed between two entities, ascending."""
        if self.relations is not None:
            return self.relations
        return self.graph.typing.relations(head, tail) if self.typed else np.arange(self.model.sizes.relations)

    @torch.no_grad()
    def score_chunks(
        self, relation: int, side: Side, anchors: Integers, allowed: Integers
    ) -> Iterator[tuple[Integers, Tensor]]:
        """Yield positions of anchors, (q,), with their scores of the allowed entities, (q, n), in chunks.

        Triples of the excluded splits have the score EXCLUDED, as have self-loops unless the relation allows them.
        The allowed entities must be ascending.
        """
        if len(allowed) == 0 or len(anchors) == 0:
            return
        device, is_all = next(self.model.parameters()).device, len(allowed) == self.model.sizes.entities
        pool = self.model.pool(None if is_all else torch.tensor(allowed, device=device))
        scorer, known = self.model.scorer(relation, side, pool), self.graph.known_in(*self.excluded)
        for places in split_rows(np.arange(len(anchors)), len(allowed), self.memory):
            part = anchors[places]
            scores = refuse_nan(scorer(torch.tensor(part, device=device)))
            mark(scores, *list_answers(known, part, relation, side), allowed, EXCLUDED)
            if not self.graph.statistics.allows_loops[relation]:
                mark(scores, np.arange(len(part)), part, allowed, EXCLUDED)
            yield places, scores


def split_rows(rows: Integers, width: int, memory: int) -> Iterator[Integers]:
    """Yield the rows in chunks whose scores against `width` candidates fit the memory."""
    chunk = max(1, memory // (BYTES_PER_SCORE * max(width, 1)))
    for start in range(0, len(rows), chunk):
        yield rows[start : start + chunk]


def list_answers(known: KnownIndex, anchors: Integers, relation: int, side: Side) -> tuple[Integers, Integers]:
    """Return the known answers to the questions of these anchors: the place of the anchor, and the entity."""
    offsets, answers = known.answers(anchors, relation, side)
    return np.repeat(np.arange(len(anchors)), np.diff(offsets)), answers


def mark(table: Tensor, rows: Integers, entities: Integers, allowed: Integers, value: float) -> None:
    """Set the places of entities in their rows of a table, whose columns are the allowed entities, ascending."""
    present = is_among(entities, allowed)
    place = torch.from_numpy(np.stack([rows[present], np.searchsorted(allowed, entities[present])])).to(table.device)
    table[place[0], place[1]] = value


@torch.no_grad()
def score_given(model: Model, triples: Triples, memory: int) -> Tensor:
    """Return the scores of triples (n, 3), (n,)."""
    scores = next(model.parameters()).new_zeros(len(triples))
    # Each relation may need matrices of its own (d, d): two, and copies of them. So triples are scored by relation.
    for rows in split_rows(np.argsort(triples[:, 1], kind="stable"), 2 * getattr(model.config, "dim", 1) ** 2, memory):
        scores[rows] = refuse_nan(model.score(*torch.tensor(triples[rows], device=scores.device).unbind(1)))
    return scores


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


def find_answers(search: Search, queries: Triples, tracker: Tracker = QUIET) -> Found:
    """Find the best answers to each query (q, 3), which has ASKED for an entity or for the relation."""
    parts = []
    for row in np.flatnonzero(queries[:, 1] == ASKED).tolist():
        found = find_relations(search, *queries[row, [0, 2]].tolist())
        parts.append(replace(found, queries=found.queries + row))
        tracker.advance(1)
    for rows, relation, side, anchors in group_questions(queries):
        found = find_entities(search, relation, side, anchors, tracker)
        parts.append(replace(found, queries=rows[found.queries]))
    joined = join_answers(parts)
    order = np.lexsort((joined.ranks, joined.queries))
    return Found(*(column[order] for column in vars(joined).values()))


def group_questions(queries: Triples) -> Iterator[tuple[Integers, int, Side, Integers]]:
    """Yield the queries for an entity by relation and side: their rows, relation, side, and entities that are given.

    Queries are grouped so that the entity table is projected once per relation and side.
    """
    rows = np.flatnonzero(queries[:, 1] != ASKED)
    keys = 2 * queries[rows, 1] + (queries[rows, 2] == ASKED)
    order = np.argsort(keys, kind="stable")
    for group in np.split(rows[order], np.flatnonzero(np.diff(keys[order])) + 1) if len(rows) else ():
        side: Side = "tail" if queries[group[0], 2] == ASKED else "head"
        yield group, int(queries[group[0], 1]), side, queries[group, 0 if side == "tail" else 2]


def find_entities(search: Search, relation: int, side: Side, anchors: Integers, tracker: Tracker = QUIET) -> Found:
    """Find the best entities on `side` of the relation for each anchor on the other side."""
    allowed = search.allow_entities(relation, side)
    parts = []
    for places, chunk in search.score_chunks(relation, side, anchors, allowed):
        best, columns = (tensor.cpu().numpy() for tensor in select_best(chunk, search.top))
        rows, ranks = np.nonzero(best != EXCLUDED)
        triples = make_triples(anchors[places[rows]], relation, allowed[columns[rows, ranks]], side)
        parts.append(Found(places[rows], ranks + 1, triples, best[rows, ranks]))
        tracker.advance(len(places))
    tracker.advance(0 if len(allowed) else len(anchors))
    return join_answers(parts)


def find_relations(search: Search, head: int, tail: int) -> Found:
    """Find the best relations between two entities."""
    relations = search.allow_relations(head, tail)
    triples = np.stack([np.full(len(relations), head), relations, np.full(len(relations), tail)], axis=1)
    triples = triples[~search.graph.known_in(*search.excluded).contains(triples)]
    best, order = select_best(score_given(search.model, triples, search.memory)[None], search.top)
    return number_answers(triples[order[0].cpu().numpy()], best[0].cpu().numpy())


def find_pairs(search: Search, relation: int, progress: bool = False) -> Found:
    """Find the best triples of a relation over all heads and tails, keeping only the best so far."""
    anchors, tails = search.allow_ends(relation, "head"), search.allow_ends(relation, "tail")
    best: Best = (torch.zeros(0, device="cpu"), torch.zeros(0, dtype=torch.int64, device="cpu"))
    title = f"searching {search.graph.relations.label(relation)}"
    with track(title, len(anchors), "heads", progress) as tracker:
        for places, scores in search.score_chunks(relation, "tail", anchors, tails):
            best = merge_best(best, int(places[0]), scores, search.top)
            tracker.advance(len(places))
    values, cells = (tensor.cpu().numpy() for tensor in best)
    heads, columns = np.divmod(cells[values != EXCLUDED], max(len(tails), 1))
    return number_answers(make_triples(anchors[heads], relation, tails[columns], "tail"), values[values != EXCLUDED])


def merge_best(best: Best, first: int, scores: Tensor, top: int) -> Best:
    """Return the best of the triples so far and of those with scores (q, n), whose heads begin at row `first`.

    Heads come in ascending order, so among equal scores the earlier ones stay in front.
    """
    values, cells = (tensor.to(scores.device) for tensor in best)
    worst_kept = values[-1] if len(values) == top else EXCLUDED
    rows = (scores.amax(1) > worst_kept).nonzero().squeeze(1)  # no other row can contribute
    new, columns = select_best(scores[rows], top)  # (q', top')
    new_cells = (first + rows[:, None]) * scores.shape[1] + columns
    kept, order = select_best(torch.cat([values.to(scores.dtype), new.flatten()])[None], top)  # (1, k)
    return kept[0], torch.cat([cells, new_cells.flatten()])[order[0]]


def make_triples(anchors: Integers, relation: int, answers: Integers, side: Side) -> Triples:
    """Return triples (n, 3) with these answers on `side` of the relation."""
    ends = (anchors, np.full(len(anchors), relation), answers)
    return np.stack(ends if side == "tail" else ends[::-1], axis=1)


def number_answers(triples: Triples, scores: npt.NDArray[np.floating]) -> Found:
    """Return the answers to a single query."""
    return Found(np.zeros(len(triples), dtype=np.int64), np.arange(1, len(triples) + 1), triples, scores)


def join_answers(parts: Iterable[Found]) -> Found:
    """Return the answers of several searches one after another."""
    nothing = number_answers(np.zeros((0, 3), dtype=np.int64), np.zeros(0, dtype=np.float32))
    columns = zip(*(vars(each).values() for each in (nothing, *parts)), strict=True)
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
