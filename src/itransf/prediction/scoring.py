"""Scoring facts that are given: how plausible, and how well they stand among their rivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.known import KnownIndex
from itransf.data.sorting import Integers
from itransf.errors import DataError
from itransf.models.base import SIDES, Model, Scorer, Side
from itransf.ops.ranks import count_rivals
from itransf.prediction.answers import LabelledFact, group_equal, name_fact
from itransf.prediction.searching import DEFAULT_MEMORY, find_known, split_rows
from itransf.prediction.selection import refuse_broken
from itransf.progress import Tracker, track

Floats = npt.NDArray[np.float64]
NamedFact = tuple[str, str, str]


@dataclass(frozen=True)
class ScoredFact(LabelledFact):
    """A given fact and what the model thinks of it.

    Attributes:
        score: Its plausibility: higher is better, and scores of one relation can be compared.
        known: The split that holds the fact ("train", "valid" or "test"), or None.
        tail_rank: Where its tail stands among all tails of the head that are not known, from 1; a rival with
            the same score counts half.
        head_rank: Where its head stands among all heads of the tail that are not known.
        percentile: Share of these rivals on both sides together that the fact beats, in percent.
    """

    score: float
    known: str | None
    tail_rank: float
    head_rank: float
    percentile: float


def score_facts(
    model: Model,
    graph: Graph,
    facts: Sequence[NamedFact],
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
    *,
    locate: Callable[[int], str] | None = None,
) -> list[ScoredFact]:
    """Return score, filtered ranks and percentile of each fact, in the order given.

    Args:
        model: What scores.
        graph: The names, and the known facts, which are no rivals.
        facts: Names or labels of head, relation and tail.
        memory: Bytes for one chunk of scores.
        progress: Whether to show it.
        locate: Names the place of a fact (numbered from 0) in messages; "fact 1" and so on, if not given.
    """
    triples = resolve_facts(graph, facts, locate or (lambda row: f"fact {row + 1}"))
    with track("scoring", len(SIDES) * len(triples), "queries", progress) as tracker:
        standing = rank_given(model, graph, triples, memory, tracker)
    columns = (standing.scores, *standing.ranks, standing.percentiles)
    rows = zip(triples.tolist(), find_splits(graph, triples), *(c.tolist() for c in columns), strict=True)
    return [
        ScoredFact(*name_fact(graph, fact), score, split, tail_rank, head_rank, percentile)
        for fact, split, score, head_rank, tail_rank, percentile in rows
    ]


@dataclass(frozen=True)
class Standing:
    """How facts stand: scores (n,); ranks and numbers of rivals (2, n), heads first."""

    scores: Floats
    ranks: Floats
    rivals: Integers

    @property
    def percentiles(self) -> Floats:
        """Share of the rivals on both sides that each fact beats, in percent; a tie is half a win."""
        rivals = self.rivals.sum(0)
        beaten = rivals - (self.ranks - 1.0).sum(0)
        # Who has no rival has lost to none.
        return np.where(rivals > 0, 100.0 * beaten / np.maximum(rivals, 1), 100.0)


@torch.no_grad()
def rank_given(model: Model, graph: Graph, triples: Triples, memory: int, tracker: Tracker) -> Standing:
    """Rank heads and tails among all entities; the entity table is projected once per relation and side."""
    standing = Standing(
        np.zeros(len(triples)),
        np.zeros((len(SIDES), len(triples))),
        np.zeros((len(SIDES), len(triples)), dtype=np.int64),
    )
    for rows in group_equal(triples[:, 1]):
        for number, side in enumerate(SIDES):
            scorer = model.scorer(int(triples[rows[0], 1]), side)
            for part in split_rows(rows, model.sizes.entities, memory):
                # Tails come last: the score that stays is the one `complete` gives for head and relation.
                scores, ranks, rivals = rank_chunk(model, graph, scorer, triples[part], side)
                standing.scores[part] = scores
                standing.ranks[number, part], standing.rivals[number, part] = ranks, rivals
                tracker.advance(len(part))
    return standing


def rank_chunk(
    model: Model, graph: Graph, scorer: Scorer, facts: Triples, side: Side
) -> tuple[Floats, Floats, Integers]:
    """Return score, rank and number of rivals of each fact, all of one relation, on one side."""
    heads, tails = np.ascontiguousarray(facts[:, 0]), np.ascontiguousarray(facts[:, 2])
    anchors, answers = (heads, tails) if side == "tail" else (tails, heads)
    offsets, values = find_known(graph, int(facts[0, 1]), side, anchors)
    device = next(model.parameters()).device
    moved = [torch.tensor(array, device=device) for array in (anchors, answers, offsets, values)]
    # Scores and not `count_closer`: a fact's own score is wanted too, to the bit as `complete` gives it.
    scores = refuse_broken(scorer(moved[0]))  # (q, e)
    above, tied = count_rivals(scores, *moved[1:])
    own = scores.gather(1, moved[1][:, None]).squeeze(1)
    queries = np.repeat(np.arange(len(facts)), np.diff(offsets))
    known_others = np.bincount(queries[values != answers[queries]], minlength=len(facts))
    rivals = model.sizes.entities - 1 - known_others
    ranks = 1.0 + above[0].cpu().numpy() + 0.5 * tied[0].cpu().numpy()
    return own.cpu().numpy().astype(np.float64), ranks, rivals


def resolve_facts(graph: Graph, facts: Sequence[NamedFact], locate: Callable[[int], str]) -> Triples:
    """Return facts given by names or labels as numbers, (n, 3)."""
    vocabularies = (graph.entities, graph.relations, graph.entities)
    triples = np.empty((len(facts), 3), dtype=np.int64)
    for row, fact in enumerate(facts):
        if isinstance(fact, str) or len(fact) != 3:
            raise DataError(f"{locate(row)}: {fact!r} is no fact; give three names: (head, relation, tail)")
        try:
            triples[row] = [v.index(name) for v, name in zip(vocabularies, fact, strict=True)]
        except DataError as error:
            raise DataError(f"{locate(row)}: {error}") from None
    return triples


def find_splits(graph: Graph, triples: Triples) -> list[str | None]:
    """Return the first split that holds each fact, None for a fact that none does."""
    found = np.full(len(triples), len(SPLITS))
    if graph.known.contains(triples).any():
        for number, split in reversed(list(enumerate(SPLITS))):
            index = KnownIndex(graph.split(split), len(graph.entities), len(graph.relations))
            found[index.contains(triples)] = number
    return [(*SPLITS, None)[number] for number in found.tolist()]
