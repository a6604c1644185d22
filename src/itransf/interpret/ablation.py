"""What is lost without a concept: the model with one concept taken away, and the ranks it then gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Graph, Triples
from itransf.evaluation import rank_triples
from itransf.models import SIDES, ITransF
from itransf.models.projection import ConceptProjection
from itransf.progress import track


@dataclass(frozen=True)
class Loss:
    """How the users' validation triples rank with and without a concept, filtered, heads and tails together.

    Attributes:
        triples: How many validation triples the relations that use the concept have.
        ranked: How many of them were ranked, evenly chosen.
        total: How many validation triples there are in all.
        mrr: Mean reciprocal rank of the ranked ones.
        mrr_without: The same without the concept.
    """

    triples: int
    ranked: int
    total: int
    mrr: float
    mrr_without: float

    @property
    def lost(self) -> float:
        """How much MRR the users lose."""
        return self.mrr - self.mrr_without

    @property
    def lost_overall(self) -> float:
        """How much MRR the whole validation split loses: the other triples lose nothing."""
        return self.lost * self.triples / self.total if self.total else 0.0

    def describe(self) -> str:
        """Say in a sentence what is lost, without its full stop."""
        change = f"{abs(self.lost_overall):.3f}"
        verb = "hardly changes" if change == "0.000" else f"{'falls' if self.lost > 0 else 'rises'} by {change}"
        sampled = f", {self.ranked:,} of them ranked" if self.ranked < self.triples else ""
        return (
            f"validation MRR {verb}; that of its users goes from {self.mrr:.3f} to {self.mrr_without:.3f} "
            f"({self.triples:,} triples{sampled})"
        )

    def to_dict(self) -> dict[str, float]:
        """Return all figures, ready for JSON."""
        return {
            "triples": self.triples,
            "ranked": self.ranked,
            "mrr": self.mrr,
            "mrr_without": self.mrr_without,
            "lost": self.lost,
            "lost_overall": self.lost_overall,
        }


@contextmanager
def without_concept(model: ITransF, concept: int) -> Iterator[None]:
    """Take a concept away inside the block, and put it back, to the bit, afterwards.

    The weights of those who use it are renormalised over the rest of their support (free weights, which sum to
    nothing in particular, stay as they are). A relation side that uses nothing else leaves entities where they are:
    the concept is the identity to it.
    """
    projections = [model.concept_projection(side) for side in SIDES]
    with torch.no_grad():
        scores = [projection.scores[:, concept].clone() for projection in projections]
        matrix = model.concepts[concept].clone()
        for projection in projections:
            _mute(projection, concept)
        model.concepts[concept] = torch.eye(len(matrix), device=matrix.device, dtype=matrix.dtype)
    try:
        yield
    finally:
        with torch.no_grad():
            model.concepts[concept] = matrix
            for projection, kept in zip(projections, scores, strict=True):
                projection.scores[:, concept] = kept


def find_alone(projection: ConceptProjection, concept: int) -> Tensor:
    """Return which relations use this concept and no other on this side, (r,)."""
    used = projection.attention() != 0
    return used[:, concept] & (used.sum(dim=1) == 1)


def _mute(projection: ConceptProjection, concept: int) -> None:
    """Give a concept no weight, except where there is no other."""
    alone = find_alone(projection, concept)
    free = projection.kind == "l1"
    kept = torch.ones_like(projection.scores[:, concept]) if free else projection.scores[:, concept]
    projection.scores[:, concept] = torch.where(alone, kept, torch.full_like(kept, 0.0 if free else -torch.inf))


def measure_losses(
    model: ITransF,
    graph: Graph,
    users: Sequence[tuple[int, npt.NDArray[np.int64]]],
    most_triples: int = 0,
    progress: bool = False,
) -> list[Loss | None]:
    """Rank the validation triples of a concept's users again without it, for each concept in turn.

    Args:
        model: It is changed while ranking, and the same as before afterwards.
        graph: Its validation triples are ranked.
        users: Concepts, each with the numbers of the relations that use it.
        most_triples: The most triples ranked for one concept, evenly chosen; zero takes all.
        progress: Whether to show it.

    Returns:
        For each concept what is lost; None where its users have no validation triples.
    """
    triples = graph.valid
    chosen = [np.flatnonzero(np.isin(triples[:, 1], relations)) for _, relations in users]
    sampled = [sample_evenly(rows, most_triples) for rows in chosen]
    needed = np.unique(np.concatenate([*sampled, np.zeros(0, dtype=np.int64)])).astype(np.int64)
    before = np.zeros(len(triples))
    losses: list[Loss | None] = []
    with track("taking concepts away", len(needed) + sum(map(len, sampled)), "triples", progress) as tracker:
        before[needed] = reciprocal_ranks(model, graph, triples[needed])
        tracker.advance(len(needed))
        for (concept, _), everything, rows in zip(users, chosen, sampled, strict=True):
            if not len(rows):
                losses.append(None)
                continue
            with without_concept(model, concept):
                after = reciprocal_ranks(model, graph, triples[rows])
            means = float(before[rows].mean()), float(after.mean())
            losses.append(Loss(len(everything), len(rows), len(triples), *means))
            tracker.advance(len(rows))
    return losses


def reciprocal_ranks(model: ITransF, graph: Graph, triples: Triples) -> npt.NDArray[np.float64]:
    """Return each triple's reciprocal filtered rank, the mean of its head's and its tail's, (n,)."""
    ranks = rank_triples(model, triples, graph.known)
    return np.asarray(sum(1.0 / ranks.ranks(side) for side in SIDES) / len(SIDES))


def sample_evenly(rows: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    """Return at most so many rows, at even distances; zero takes all."""
    if not most or len(rows) <= most:
        return rows
    return rows[np.arange(most) * len(rows) // most]
