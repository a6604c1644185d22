"""Ablation: a model without some of its concepts, and how well it then ranks."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch

from itransf.data import Booleans, Floats, Graph, Integers, KnownIndex, Triples
from itransf.evaluation import rank_triples
from itransf.models import SIDES, ConceptModel, Model
from itransf.progress import track


@torch.no_grad()
def remove_concepts(model: ConceptModel, removed: Booleans) -> Model:
    """Return the model without some of its attention weights; the model itself does not change.

    The other weights of a part are scaled to the sum they had; free weights, which have no fixed sum, stay as they are.
    Without any weight, a side has the identity as its matrix, and a relation that is a sum of concepts scores zero.

    Args:
        model: A model with concepts; the model returned shares its parameters.
        removed: Whether each weight is removed, (p, r, m) in the order of `model.parts`.
    """
    attention = [model.concept_attention(part) for part in model.parts]
    weights = torch.stack([each.attention() for each in attention])  # (p, r, m)
    left = weights.masked_fill(torch.from_numpy(removed).to(weights.device), 0.0)
    if not attention[0].has_free_weights:
        rest = left.sum(2, keepdim=True).clamp_min(torch.finfo(left.dtype).tiny)
        left = left * (weights.sum(2, keepdim=True) / rest)
    return model.with_attention(left)


def mark_concept(model: ConceptModel, concept: int) -> Booleans:
    """Return a mask (p, r, m) that removes one concept from every relation."""
    return np.tile(np.arange(len(model.concepts)) == concept, (len(model.parts), model.sizes.relations, 1))


@dataclass(frozen=True)
class Ablation:
    """Filtered ranks of the validation triples of a concept's users, with and without the concept.

    Attributes:
        triples: The number of validation triples of the relations that use the concept.
        ranked: How many of them were ranked, evenly chosen.
        total: The number of validation triples of all relations.
        mrr: Mean reciprocal rank of the ranked triples, heads and tails together.
        mrr_without: The same without the concept.
    """

    triples: int
    ranked: int
    total: int
    mrr: float
    mrr_without: float

    @property
    def lost(self) -> float:
        """The drop of MRR on the users' triples."""
        return self.mrr - self.mrr_without

    @property
    def lost_overall(self) -> float:
        """The drop of MRR on the whole validation split: the other triples do not change."""
        return self.lost * self.triples / self.total if self.total else 0.0

    def describe(self) -> str:
        """Return the drop in one sentence, without its full stop."""
        change = f"{abs(self.lost_overall):.3f}"
        verb = "hardly changes" if change == "0.000" else f"{'falls' if self.lost > 0 else 'rises'} by {change}"
        sampled = f", {self.ranked:,} of them ranked" if self.ranked < self.triples else ""
        return (
            f"validation MRR {verb}; that of its users goes from {self.mrr:.3f} to {self.mrr_without:.3f} "
            f"({self.triples:,} triples{sampled})"
        )

    def to_dict(self) -> dict[str, float]:
        """Return all figures, ready for JSON."""
        return {**asdict(self), "lost": self.lost, "lost_overall": self.lost_overall}


def measure_ablations(
    model: ConceptModel,
    graph: Graph,
    users: Sequence[tuple[int, Integers]],
    most_triples: int = 0,
    progress: bool = False,
    known: KnownIndex | None = None,
) -> list[Ablation | None]:
    """Rank the validation triples of each concept's users again without the concept.

    Args:
        model: A model with concepts.
        graph: The graph whose validation triples are ranked.
        users: Concepts, each with the relations that use it.
        most_triples: Maximum number of triples to rank for one concept, evenly chosen; 0 ranks all.
        progress: Whether to show progress.
        known: Known answers, which are filtered; by default those of all splits.

    Returns:
        One ablation per concept; None where the users have no validation triples.
    """
    triples = graph.valid
    chosen = [np.flatnonzero(np.isin(triples[:, 1], relations)) for _, relations in users]
    sampled = [sample_evenly(rows, most_triples) for rows in chosen]
    needed = np.unique(np.concatenate([*sampled, np.zeros(0, dtype=np.int64)])).astype(np.int64)
    before = np.zeros(len(triples))
    found: list[Ablation | None] = []
    with track("removing concepts", len(needed) + sum(map(len, sampled)), "triples", progress) as tracker:
        before[needed] = reciprocal_ranks(model, graph, triples[needed], known)
        tracker.advance(len(needed))
        for (concept, _), everything, rows in zip(users, chosen, sampled, strict=True):
            if not len(rows):
                found.append(None)
                continue
            reduced = remove_concepts(model, mark_concept(model, concept))
            after = reciprocal_ranks(reduced, graph, triples[rows], known)
            means = float(before[rows].mean()), float(after.mean())
            found.append(Ablation(len(everything), len(rows), len(triples), *means))
            tracker.advance(len(rows))
    return found


def reciprocal_ranks(model: Model, graph: Graph, triples: Triples, known: KnownIndex | None = None) -> Floats:
    """Return each triple's reciprocal filtered rank, the mean of its head's and its tail's, (n,)."""
    ranks = rank_triples(model, triples, known or graph.known)
    return np.asarray(sum(1.0 / ranks.ranks(side) for side in SIDES) / len(SIDES))


def sample_evenly(rows: Integers, most: int) -> Integers:
    """Return at most `most` rows at even distances; zero takes all."""
    if not most or len(rows) <= most:
        return rows
    return rows[np.arange(most) * len(rows) // most]
