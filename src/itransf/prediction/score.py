"""Scores of given triples: plausibility, and rank among the alternatives."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from itransf.data.graph import Graph
from itransf.evaluation import rank_as_predicted
from itransf.models.base import SIDES, Model
from itransf.prediction.calibration import Calibration, find_probabilities
from itransf.prediction.inputs import GivenTriple, LabelledTriple, find_splits, name_triple, resolve_triples
from itransf.prediction.search import Search


@dataclass(frozen=True)
class ScoredTriple(LabelledTriple):
    """A given triple with its score and ranks.

    Attributes:
        score: Plausibility: higher is better; comparable within a relation.
        known: First split that contains the triple ("train", "valid" or "test"), or None.
        tail_rank: Rank of the tail among the tails that fit the relation and are not known, from 1; a competitor with
            the same score adds half a place. As in predictions, the head itself is no competitor unless the relation
            allows self-loops (`allows_loops`).
        head_rank: Rank of the head among the heads that fit, likewise.
        percentile: Percentage of the competitors on both sides that the triple beats.
        probability: Chance that it is a missing answer, if its queries have one: the geometric mean of both sides, if
            the run has a calibration and the triple fits and is not in train.
    """

    score: float
    known: str | None
    tail_rank: float
    head_rank: float
    percentile: float
    probability: float | None = None


def score_triples(
    model: Model,
    graph: Graph,
    triples: Iterable[GivenTriple],
    progress: bool = False,
    *,
    calibration: Calibration | None = None,
) -> list[ScoredTriple]:
    """Return score, filtered ranks and percentile of each triple, in the order given.

    Competitors are the answers that `complete` allows: entities that fit the relation, and self-loops only where it
    allows them. A triple whose own entities do not fit has the same competitors. (`evaluate` follows the standard
    protocol, which counts all entities.)

    Args:
        model: Scoring model.
        graph: Graph with the names and the known triples, which are not competitors.
        triples: Names or labels of head, relation and tail: sequences, mappings or predictions.
        progress: Whether to show a progress bar.
        calibration: Function from scores to probabilities; by default that of the run.

    Raises:
        DataError: Something is not a triple, or a name is not known.
    """
    search = Search(model, graph)
    rows = resolve_triples(graph, triples)
    ranks = rank_as_predicted(model, graph, rows, search.memory, progress, keep_scores=True, title="scoring")
    assert ranks.scores is not None, "the ranker was asked to keep them"
    head_ranks, tail_ranks = ranks.ranks("head"), ranks.ranks("tail")
    rivals = ranks.rivals[0].sum(0)
    beaten = rivals - (head_ranks - 1.0) - (tail_ranks - 1.0)
    percentiles = np.where(rivals > 0, 100.0 * beaten / np.maximum(rivals, 1), 100.0)
    # Both sides give the same score up to rounding; that of the tails has the bits `complete` gives for the head.
    columns = (tail_ranks.tolist(), head_ranks.tolist(), percentiles.tolist())
    chances = find_probabilities(calibration, search, rows)
    scores = ranks.scores[SIDES.index("tail")].tolist()
    values = zip(rows.tolist(), scores, find_splits(graph, rows), *columns, chances, strict=True)
    return [ScoredTriple(*name_triple(graph, triple), *rest) for triple, *rest in values]
