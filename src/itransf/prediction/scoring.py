"""Scoring triples that are given: how plausible, and how well they stand among their rivals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.data.known import KnownIndex
from itransf.data.sorting import Integers
from itransf.errors import check_count
from itransf.models.base import SIDES, Model, Scorer, Side
from itransf.prediction.answers import LabelledTriple, group_equal, name_triple
from itransf.prediction.given import GivenTriple, resolve_triples
from itransf.prediction.searching import DEFAULT_MEMORY, HIDDEN, find_known, has_loops, hide, split_rows
from itransf.prediction.selection import refuse_broken
from itransf.progress import Tracker, track

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScoredTriple(LabelledTriple):
    """A given triple and what the model thinks of it.

    Attributes:
        score: Its plausibility: higher is better, and scores of one relation can be compared.
        known: The split that holds the triple ("train", "valid" or "test"), or None.
        tail_rank: Where its tail stands among all tails of the head that are not known, from 1; a rival with
            the same score counts half. As in a prediction, the head itself is no rival unless train has such triples.
        head_rank: Where its head stands among all heads of the tail that are not known, the tail itself left out.
        percentile: Share of these rivals on both sides together that the triple beats, in percent.
    """

    score: float
    known: str | None
    tail_rank: float
    head_rank: float
    percentile: float


def score_triples(
    model: Model,
    graph: Graph,
    triples: Iterable[GivenTriple],
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
    *,
    locate: Callable[[int], str] | None = None,
) -> list[ScoredTriple]:
    """Return score, filtered ranks and percentile of each triple, in the order given.

    Rivals are those that `complete` would answer with: a triple whose head is its tail is none, unless train has such
    triples of the relation. (`evaluate` keeps to the usual protocol, which counts it.)

    Args:
        model: What scores.
        graph: The names, and the known triples, which are no rivals.
        triples: Names or labels of head, relation and tail, in this order or by these words; predictions will do.
        memory: Bytes for one chunk of scores.
        progress: Whether to show it.
        locate: Names the place of a triple (numbered from 0) in messages; "triple 1" and so on, if not given.

    Raises:
        DataError: Something is no triple, or a name is not known.
        ConfigError: The memory is no number of bytes.
    """
    memory = check_count("memory", memory, least=1)
    triples = resolve_triples(graph, triples, locate or (lambda row: f"triple {row + 1}"))
    with track("scoring", len(SIDES) * len(triples), "queries", progress) as tracker:
        standing = rank_given(model, graph, triples, memory, tracker)
    columns = (standing.scores, *standing.ranks, standing.percentiles)
    rows = zip(triples.tolist(), find_splits(graph, triples), *(c.tolist() for c in columns), strict=True)
    return [
        ScoredTriple(*name_triple(graph, triple), score, split, tail_rank, head_rank, percentile)
        for triple, split, score, head_rank, tail_rank, percentile in rows
    ]


@dataclass(frozen=True)
class Standing:
    """How triples stand: scores (n,); ranks and numbers of rivals (2, n), heads first."""

    scores: Floats
    ranks: Floats
    rivals: Integers

    @property
    def percentiles(self) -> Floats:
        """Share of the rivals on both sides that each triple beats, in percent; a tie is half a win."""
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
        relation = int(triples[rows[0], 1])
        with_loops = has_loops(graph, relation)
        for number, side in enumerate(SIDES):
            scorer = model.scorer(relation, side)
            for part in split_rows(rows, model.sizes.entities, memory):
                # Tails come last: the score that stays is the one `complete` gives for head and relation.
                scores, ranks, rivals = rank_chunk(model, graph, scorer, triples[part], side, with_loops)
                standing.scores[part] = scores
                standing.ranks[number, part], standing.rivals[number, part] = ranks, rivals
                tracker.advance(len(part))
    return standing


def rank_chunk(
    model: Model, graph: Graph, scorer: Scorer, triples: Triples, side: Side, with_loops: bool
) -> tuple[Floats, Floats, Integers]:
    """Return score, rank and number of rivals of each triple, all of one relation, on one side."""
    heads, tails = np.ascontiguousarray(triples[:, 0]), np.ascontiguousarray(triples[:, 2])
    anchors, answers = (heads, tails) if side == "tail" else (tails, heads)
    offsets, known = find_known(graph, int(triples[0, 1]), side, anchors)
    rows, device = np.arange(len(triples)), next(model.parameters()).device
    # Scores and not `count_closer`: a triple's own score is wanted too, to the bit as `complete` gives it.
    scores = refuse_broken(scorer(torch.tensor(anchors, device=device)))  # (q, e)
    own = scores.gather(1, torch.tensor(answers, device=device)[:, None])  # (q, 1)
    hide(scores, np.repeat(rows, np.diff(offsets)), known, None)
    hide(scores, rows, answers, None)
    if not with_loops:
        hide(scores, rows, anchors, None)
    above, level, rivals = (found.sum(1).cpu().numpy() for found in (scores > own, scores == own, scores != HIDDEN))
    return own[:, 0].cpu().numpy().astype(np.float64), 1.0 + above + 0.5 * level, rivals


def find_splits(graph: Graph, triples: Triples) -> list[str | None]:
    """Return the first split that holds each triple, None for a triple that none does."""
    found = np.full(len(triples), len(SPLITS))
    if graph.known.contains(triples).any():
        for number, split in reversed(list(enumerate(SPLITS))):
            index = KnownIndex(graph.split(split), len(graph.entities), len(graph.relations))
            found[index.contains(triples)] = number
    return [(*SPLITS, None)[number] for number in found.tolist()]
