"""Searching for the most plausible answers, chunk by chunk in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from itransf.data.graph import Graph
from itransf.data.known import Integers, is_among
from itransf.errors import check_count
from itransf.models.base import Model, Side
from itransf.prediction.answers import Found, find_nothing, number_answers
from itransf.prediction.selection import refuse_broken, select_best
from itransf.progress import Tracker

DEFAULT_MEMORY = 256 * 2**20  # bytes one chunk of scores may take
BYTES_PER_SCORE = 24  # a float32 score, what computing it takes, and what choosing among them does
HIDDEN = -torch.inf  # the score of what is no answer


@dataclass(frozen=True)
class Search:
    """What is asked, and which answers count.

    Attributes:
        model: What scores.
        graph: What is known.
        top: How many answers to each query.
        candidates: The only entities (relations, where those are asked) that count, ascending; None: all.
        in_domain: Whether only entities count that train has on that side of the relation.
        include_known: Whether triples that are known already count.
        memory: Bytes for one chunk of scores.
    """

    model: Model
    graph: Graph
    top: int = 10
    candidates: Integers | None = None
    in_domain: bool = False
    include_known: bool = False
    memory: int = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        """Refuse what cannot be searched."""
        for name in ("top", "memory"):
            object.__setattr__(self, name, check_count(name, getattr(self, name), least=1))

    def allow_entities(self, relation: int, side: Side) -> Integers | None:
        """Return the entities that may stand on `side` of the relation, ascending; None: all."""
        if not self.in_domain:
            return self.candidates
        statistics = self.graph.statistics
        domain = statistics.head_domain(relation) if side == "head" else statistics.tail_domain(relation)
        return domain if self.candidates is None else domain[is_among(domain, self.candidates)]

    def score_chunks(
        self, relation: int, side: Side, anchors: Integers, allowed: Integers | None
    ) -> Iterator[tuple[Integers, Tensor]]:
        """Yield the anchors in chunks with the scores (q, n) of what is allowed.

        What is known is hidden, and an entity as the answer to itself, unless train has such triples.
        """
        device = next(self.model.parameters()).device
        width = self.model.sizes.entities if allowed is None else len(allowed)
        if width == 0 or len(anchors) == 0:
            return
        pool = self.model.pool(None if allowed is None else torch.tensor(allowed, device=device))
        scorer = self.model.scorer(relation, side, pool)
        with_loops = has_loops(self.graph, relation)
        for part in split_rows(anchors, width, self.memory):
            scores = refuse_broken(scorer(torch.tensor(part, device=device)))
            if not self.include_known:
                offsets, values = find_known(self.graph, relation, side, part)
                rows = np.repeat(np.arange(len(part)), np.diff(offsets))
                hide(scores, rows, values, allowed)
            if not with_loops:
                hide(scores, np.arange(len(part)), part, allowed)
            yield part, scores


def split_rows(rows: Integers, width: int, memory: int) -> Iterator[Integers]:
    """Yield the rows in chunks whose scores against `width` candidates fit the memory."""
    chunk = max(1, memory // (BYTES_PER_SCORE * max(width, 1)))
    for start in range(0, len(rows), chunk):
        yield rows[start : start + chunk]


def has_loops(graph: Graph, relation: int) -> bool:
    """Return whether train holds a triple of the relation whose head is its tail."""
    heads, relations, tails = graph.train.T
    return bool(((heads == tails) & (relations == relation)).any())


def find_known(graph: Graph, relation: int, side: Side, anchors: Integers) -> tuple[Integers, Integers]:
    """Return the known answers on `side` of each anchor, as offsets (q + 1,) and values."""
    return graph.known.tails(anchors, relation) if side == "tail" else graph.known.heads(relation, anchors)


def hide(scores: Tensor, rows: Integers, entities: Integers, allowed: Integers | None) -> None:
    """Make sure that these entities are no answers in these rows."""
    columns = entities
    if allowed is not None:
        present = is_among(entities, allowed)
        rows, columns = rows[present], np.searchsorted(allowed, entities[present])
    place = torch.from_numpy(np.stack([rows, columns])).to(scores.device)
    scores[place[0], place[1]] = HIDDEN


@torch.no_grad()
def find_entities(search: Search, relation: int, side: Side, anchors: Integers, tracker: Tracker) -> Found:
    """Find the best entities on `side` of the relation for each anchor on the other side."""
    allowed = search.allow_entities(relation, side)
    queries, ranks, answers, found = [], [], [], []
    start = 0
    for part, scores in search.score_chunks(relation, side, anchors, allowed):
        best, columns = (tensor.cpu().numpy() for tensor in select_best(scores, search.top))
        rows, places = np.nonzero(best != HIDDEN)
        chosen = columns[rows, places]
        queries.append(rows + start)
        ranks.append(places + 1)
        answers.append(chosen if allowed is None else allowed[chosen])
        found.append(best[rows, places])
        start += len(part)
        tracker.advance(len(part))
    if not found:
        tracker.advance(len(anchors))
        return find_nothing()
    rows, entities = np.concatenate(queries), np.concatenate(answers)
    given, relations = anchors[rows], np.full(len(rows), relation)
    ends = (given, relations, entities) if side == "tail" else (entities, relations, given)
    return Found(rows, np.concatenate(ranks), np.stack(ends, axis=1), np.concatenate(found))


@torch.no_grad()
def find_relations(search: Search, head: int, tail: int) -> Found:
    """Find the best relations between two entities."""
    relations = np.arange(search.model.sizes.relations)
    if search.candidates is not None:
        relations = search.candidates
    if search.in_domain:
        relations = relations[is_among(relations, list_fitting_relations(search.graph, head, tail))]
    triples = np.stack([np.full(len(relations), head), relations, np.full(len(relations), tail)], axis=1)
    if not search.include_known:
        triples = triples[~search.graph.known.contains(triples)]
    if not len(triples):
        return find_nothing()
    device = next(search.model.parameters()).device
    # Each relation may need matrices of its own (d, d): two, and copies of them.
    width = 2 * getattr(search.model.config, "dim", 1) ** 2
    parts = [
        search.model.score(*torch.tensor(triples[rows], device=device).unbind(1))
        for rows in split_rows(np.arange(len(triples)), width, search.memory)
    ]
    best, order = select_best(refuse_broken(torch.cat(parts))[None], search.top)
    return number_answers(triples[order[0].cpu().numpy()], best[0].cpu().numpy())


def list_fitting_relations(graph: Graph, head: int, tail: int) -> Integers:
    """Return the relations, ascending, in whose train triples the head is a head and the tail a tail."""
    statistics = graph.statistics
    of_head = np.flatnonzero(statistics.head_domain_values == head)
    of_tail = np.flatnonzero(statistics.tail_domain_values == tail)
    relations = np.searchsorted(statistics.head_domain_offsets, of_head, side="right") - 1
    others = np.searchsorted(statistics.tail_domain_offsets, of_tail, side="right") - 1
    return relations[is_among(relations, others)]
