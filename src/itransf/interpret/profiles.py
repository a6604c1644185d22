"""The profile of a relation: what it is made of, and which relations it mirrors, repeats or specialises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from itransf.data.graph import Graph
from itransf.errors import check_count
from itransf.interpret.attention import ConceptWeight
from itransf.interpret.kinship import compare_width, score_roles, score_symmetry
from itransf.interpret.spaces import Part, open_space
from itransf.models import Model
from itransf.models.translation import Translation

LIKELY = 0.75
"""The score from which the sentence of a profile names a candidate; the scores themselves say more."""
SHORTLIST = 32
"""How many relations, of those most like one, are looked at as its sub-relations or the other way round."""


@dataclass(frozen=True)
class RelatedRelation:
    """Another relation, and how well it fits a role.

    Attributes:
        relation: Its name.
        label: What a person reads for it.
        score: How well it fits, at most 1.
        matrices: The similarity of the projections that is in the score.
        translation: The similarity of the translations that is in the score.
        attention: The similarity of the attention vectors alone, for comparison; None where there are no concepts.
    """

    relation: str
    label: str
    score: float
    matrices: float
    translation: float
    attention: float | None


@dataclass(frozen=True)
class RelationProfile:
    """What a trained model tells about a relation; no triple is counted for it.

    With W_head[r] and W_tail[r] the matrices of r (composed of its concepts, or its own), v[r] its translation and
    cos the cosine of all entries:

    - inverse(r, s) = (cos(W_head[r], W_tail[s]) + cos(W_tail[r], W_head[s])) / 4 - cos(v[r], v[s]) / 2
    - equivalent(r, s) = (cos(W_head[r], W_head[s]) + cos(W_tail[r], W_tail[s])) / 4 + cos(v[r], v[s]) / 2
    - symmetric(r) = cos(W_head[r], W_tail[r]) / 2 + (q - |v[r]|^2) / (q + |v[r]|^2) / 2, where q is the median of
      |v|^2 over all relations: the second term is 1 for no translation at all and 0 for a middling one
    - sub(r, s), "r is a sub-relation of s": with M = [W_head, -W_tail], every pair close under r is close under s if
      M[s] = A M[r] and v[s] = A v[r] for a matrix A that does not stretch. A is the least-squares fit of the first
      with its singular values cut at one; the score is (1 - |M[s] - A M[r]|^2 / |M[s]|^2) / 2 + cos(A v[r], v[s]) / 2,
      looked at for the relations with the best equivalent(r, s). Which of two relations is the narrower one shows
      only weakly in a trained model: read the direction with care.

    The length that projected vectors may be held to is left out here. TransE has no matrices: there they count as the
    identity, and the translations alone decide.

    Attributes:
        relation: Its name.
        label: What a person reads for it.
        head: The concepts of its head side, strongest first; empty for a model without concepts.
        tail: The concepts of its tail side.
        symmetric: How much it looks like its own inverse, between -1 and 1.
        inverse: The relations most like its inverse, best first.
        equivalent: Those most like itself.
        broader: Those it is most likely a sub-relation of.
        narrower: Those most likely a sub-relation of it.
    """

    relation: str
    label: str
    head: tuple[ConceptWeight, ...]
    tail: tuple[ConceptWeight, ...]
    symmetric: float
    inverse: tuple[RelatedRelation, ...]
    equivalent: tuple[RelatedRelation, ...]
    broader: tuple[RelatedRelation, ...]
    narrower: tuple[RelatedRelation, ...]

    @property
    def sentence(self) -> str:
        """What stands out, in one sentence."""
        told = [f"looks symmetric ({self.symmetric:.2f})"] if self.symmetric >= LIKELY else []
        for words, found in (("looks like the inverse of", self.inverse), ("comes close to", self.equivalent)):
            told += [f"{words} {other.label} ({other.score:.2f})" for other in found[:1] if other.score >= LIKELY]
        if not told:
            told = [
                "stands by itself: it does not look symmetric, and no relation looks like its inverse or its double"
            ]
        listed = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
        return f"{self.label} {listed}."

    def __repr__(self) -> str:
        return f"RelationProfile({self.sentence.removesuffix('.')})"

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {**asdict(self), "sentence": self.sentence}


@torch.no_grad()
def profile_relation(model: Model, graph: Graph, relation: str, top: int = 3) -> RelationProfile:
    """Return what a relation is made of and how it relates to the others; the class tells the formulas.

    Args:
        model: A model of the translation family.
        graph: The names.
        relation: A name or label.
        top: How many candidates for each role.

    Raises:
        DataError: The relation is not known.
        ConfigError: The model is of another family, or fewer than one candidate is asked for.
    """
    number, top = graph.relations.index(relation), check_count("top", top, least=1)
    space = open_space(model, number)
    scores = score_roles(space.model, number)
    return RelationProfile(
        graph.relations.name(number),
        graph.relations.label(number),
        order_weights(space.parts["head"]),
        order_weights(space.parts["tail"]),
        score_symmetry(space.model, number),
        find_kin(graph, scores, "inverse", number, top),
        find_kin(graph, scores, "equivalent", number, top),
        find_wider(space.model, graph, scores, "broader", number, top),
        find_wider(space.model, graph, scores, "narrower", number, top),
    )


def order_weights(parts: tuple[Part, ...]) -> tuple[ConceptWeight, ...]:
    """Return the concepts among a side's parts, strongest first."""
    uses = [
        ConceptWeight(part.concept, part.weight)
        for part in parts
        if part.concept is not None and part.weight is not None
    ]
    return tuple(sorted(uses, key=lambda use: (-abs(use.weight), use.concept)))


def find_kin(
    graph: Graph, scores: Mapping[str, Tensor], role: str, relation: int, top: int
) -> tuple[RelatedRelation, ...]:
    """Return the relations most like a relation's inverse, or most like itself, best first."""
    sides, sign = ("swapped", -1.0) if role == "inverse" else ("same", 1.0)
    parts = (scores[sides], sign * scores["translation"])
    return rank_candidates(
        graph, torch.arange(len(parts[0]), device="cpu"), parts, scores.get(f"attention_{sides}"), relation, top
    )


def find_wider(
    model: Translation, graph: Graph, scores: Mapping[str, Tensor], role: str, relation: int, top: int
) -> tuple[RelatedRelation, ...]:
    """Return the relations, of those most like it, that a relation is a sub-relation of, or that are one of it."""
    totals = scores["same"] + scores["translation"]
    totals[relation] = -torch.inf
    others = totals.argsort(descending=True, stable=True)[: min(SHORTLIST, len(totals) - 1)]
    own = torch.full_like(others, relation)
    pairs = (own, others) if role == "broader" else (others, own)
    narrow, wide = (numbers.to(model.entities.device) for numbers in pairs)
    parts = compare_width(model, narrow, wide) if len(others) else (totals[:0], totals[:0])
    attention = scores.get("attention_same")
    return rank_candidates(graph, others, parts, None if attention is None else attention[others], relation, top)


def rank_candidates(
    graph: Graph,
    numbers: Tensor,
    parts: tuple[Tensor, Tensor],
    attention: Tensor | None,
    relation: int,
    top: int,
) -> tuple[RelatedRelation, ...]:
    """Return relations (n,) by the mean of their similarities in matrices and translations (n,), best first."""
    matrices, translations = parts
    totals = (matrices + translations) / 2
    order = [place for place in totals.argsort(descending=True, stable=True).tolist() if numbers[place] != relation]
    return tuple(
        RelatedRelation(
            graph.relations.name(int(numbers[place])),
            graph.relations.label(int(numbers[place])),
            float(totals[place]),
            float(matrices[place]),
            float(translations[place]),
            None if attention is None else float(attention[place]),
        )
        for place in order[:top]
    )
