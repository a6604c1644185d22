"""Scoring triples that are given: how plausible, and how well they stand among their rivals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from itransf.data.graph import SPLITS, Graph, Triples
from itransf.errors import check_count
from itransf.evaluation import rank_triples
from itransf.models.base import SIDES, Model
from itransf.prediction.answers import LabelledTriple, name_triple
from itransf.prediction.given import GivenTriple, resolve_triples
from itransf.prediction.searching import DEFAULT_MEMORY


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
    rows = resolve_triples(graph, triples, locate or (lambda row: f"triple {row + 1}"))
    loops = graph.statistics.has_loops
    ranks = rank_triples(model, rows, graph.known, memory, progress, loops=loops, keep_scores=True, title="scoring")
    assert ranks.scores is not None, "they were asked for"
    head_ranks, tail_ranks = ranks.ranks("head"), ranks.ranks("tail")
    rivals = ranks.rivals[0].sum(0)
    beaten = rivals - (head_ranks - 1.0) - (tail_ranks - 1.0)
    percentiles = np.where(rivals > 0, 100.0 * beaten / np.maximum(rivals, 1), 100.0)
    # Of the two equal scores, that of the tails is the one `complete` gives for head and relation, to the last bit.
    columns = (ranks.scores[SIDES.index("tail")], tail_ranks, head_ranks, percentiles)
    values = zip(rows.tolist(), find_splits(graph, rows), *(column.tolist() for column in columns), strict=True)
    return [
        ScoredTriple(*name_triple(graph, triple), score, split, tail_rank, head_rank, percentile)
        for triple, split, score, tail_rank, head_rank, percentile in values
    ]


def find_splits(graph: Graph, triples: Triples) -> list[str | None]:
    """Return the first split that holds each triple, None for a triple that none does."""
    found = np.full(len(triples), len(SPLITS))
    if graph.known.contains(triples).any():
        for number, split in reversed(list(enumerate(SPLITS))):
            found[graph.known_in(split).contains(triples)] = number
    return [(*SPLITS, None)[number] for number in found.tolist()]
