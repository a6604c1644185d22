"""Explanation of a triple: its score split exactly, the runner-up, the evidence, and the rank without each concept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Graph, Triples
from itransf.errors import ConfigError, check_count
from itransf.evaluation import rank_triples
from itransf.interpret.ablation import remove_concepts
from itransf.interpret.attention import check_side, read_attention
from itransf.interpret.evidence import Evidence, Triple, find_nearest, find_supporting
from itransf.interpret.sentences import write_sentence, write_short_form
from itransf.interpret.sharing import SharedConcept, concepts_behind
from itransf.models import SIDES, ConceptModel, Model, Side, is_explainable
from itransf.models.projection import ConceptProjection
from itransf.models.translation import Translation
from itransf.ops.distance import Norm, distance
from itransf.prediction.inputs import LabelledTriple, name_triple, resolve_triples
from itransf.prediction.predict import DEFAULT_MEMORY, Search, find_entities
from itransf.prediction.score import find_splits
from itransf.progress import track

PartSide = Literal["head", "translation", "tail"]
ORDER: tuple[PartSide, ...] = ("head", "translation", "tail")
MOST_REMOVED = 8
"""Maximum number of concepts of a side to remove in turn, heaviest first: a dense attention has hundreds."""


@dataclass(frozen=True)
class Part:
    """One summand of P_head(h) + r - P_tail(t).

    Attributes:
        side: "head", "tail" or "translation".
        concept: Number of the concept; None for a relation's own matrix, the identity, or the translation.
        weight: Attention on the concept.
    """

    side: PartSide
    concept: int | None
    weight: float | None


@dataclass(frozen=True)
class Contribution(Part):
    """The share of one part in the distance of the triple, and of the triple with the runner-up as the answer.

    Attributes:
        value: Share of the triple's distance.
        rival: Share of the runner-up's distance; None where there is no runner-up.
        favour: rival - value: positive in favour of the answer, negative in favour of the runner-up.
    """

    value: float
    rival: float | None
    favour: float | None


@dataclass(frozen=True)
class RunnerUp:
    """The best other candidate for the answer whose triple is not known.

    Attributes:
        name: Name of the entity.
        label: Label of the entity.
        distance: Distance of the triple with it.
    """

    name: str
    label: str
    distance: float


@dataclass(frozen=True)
class Removal:
    """Score and rank of the answer after one concept is removed from one side of its relation.

    Attributes:
        side: Side that loses the concept.
        concept: Number of the concept.
        weight: Attention on the concept; the other weights of the side are scaled to sum to one.
        score: Score of the triple without it.
        rank: Rank of the answer without it.
    """

    side: Side
    concept: int
    weight: float
    score: float
    rank: float


@dataclass(frozen=True)
class Explanation(LabelledTriple):
    """Why a model gives a triple its score.

    Attributes:
        side: Side whose entity is the answer.
        known: Split that holds the triple ("train", "valid" or "test"), or None.
        score: Score of the triple, -distance.
        distance: |P_head(h) + r - P_tail(t)|: the sum of the contributions' values.
        ranks: Rank of the entity on each side among the candidates whose triple is not known.
        candidates: Number of candidates on each side.
        contributions: The exact split of the distance.
        runner_up: The best other candidate on `side`; the contributions' favours sum to its distance minus the
            triple's.
        sharing: The concepts of each side and who else uses them; None for a model without concepts.
        nearest: Training triples of the relation that are most similar to this one, as the relation projects them.
        supporting: Training triples about the same head or tail that lower this triple's distance most.
        removals: Rank of the answer without each concept, the worst first.
        concept_names: Names that were given to concepts, by number.
    """

    side: Side
    known: str | None
    score: float
    distance: float
    ranks: Mapping[Side, float]
    candidates: Mapping[Side, int]
    contributions: tuple[Contribution, ...]
    runner_up: RunnerUp | None
    sharing: Mapping[str, tuple[SharedConcept, ...]] | None
    nearest: tuple[Evidence, ...]
    supporting: tuple[Evidence, ...]
    removals: tuple[Removal, ...]
    concept_names: Mapping[int, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Explanation({self.head} {self.relation} {self.tail}: {self.side} ranked {self.rank:g})"

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The explanation in one sentence."""
        return write_sentence(self)

    @property
    def short(self) -> str:
        """The short form: the parts most in favour of the answer, and the evidence."""
        return write_short_form(self)

    @property
    def answer(self) -> str:
        """The label of the answer."""
        return self.tail_label if self.side == "tail" else self.head_label

    @property
    def rank(self) -> float:
        """The rank of the answer among the candidates on its side."""
        return self.ranks[self.side]

    @property
    def lead(self) -> float | None:
        """The runner-up's distance minus the triple's: positive where the answer is ahead."""
        return None if self.runner_up is None else self.runner_up.distance - self.distance

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {**super().to_dict(), "lead": self.lead, "sentence": self.sentence, "short": self.short}


def explain(
    model: Model,
    graph: Graph,
    head: str,
    relation: str,
    tail: str,
    *,
    side: str = "tail",
    evidence: int = 3,
    removals: bool = True,
    names: Mapping[int, str] | None = None,
    memory: int = DEFAULT_MEMORY,
) -> Explanation:
    """Explain the score of a triple, known or not.

    Args:
        model: Model whose score is a distance between projected entities.
        graph: Names and known triples.
        head: Name or label of the head.
        relation: Name or label of the relation.
        tail: Name or label of the tail.
        side: Side whose entity is the answer; it is compared with the runner-up on that side.
        evidence: Number of training triples of each kind.
        removals: Whether to rank the answer again without each concept, which takes most of the time.
        names: Names of concepts, by number.
        memory: Bytes for one chunk of scores.

    Raises:
        DataError: A name is not known.
        ConfigError: The side or a number is not valid, or the model's score cannot be split.
    """
    asked = check_side(side)
    evidence, memory = check_count("evidence", evidence), check_count("memory", memory, least=1)
    explained = check_explainable(model)
    rows = resolve_triples(graph, [(head, relation, tail)], lambda _: "the triple to explain")
    triple: Triple = (int(rows[0, 0]), int(rows[0, 1]), int(rows[0, 2]))
    loops = graph.statistics.has_loops
    ranks = rank_triples(explained, rows, graph.known, memory, loops=loops, keep_scores=True)
    rival = find_runner_up(explained, graph, triple, asked, memory)
    split = split_distances(explained, rows if rival is None else np.stack([rows[0], rival]))
    runner_up = None
    if rival is not None:
        entity = int(rival[2 if asked == "tail" else 0])
        runner_up = RunnerUp(graph.entities.name(entity), graph.entities.label(entity), float(split.distances[1]))
    return Explanation(
        *name_triple(graph, triple),
        asked,
        find_splits(graph, rows)[0],
        -float(split.distances[0]),
        float(split.distances[0]),
        {end: float(ranks.ranks(end)[0]) for end in SIDES},
        {end: int(ranks.rivals[0, number, 0]) + 1 for number, end in enumerate(SIDES)},
        list_contributions(split),
        runner_up,
        trace_concepts(explained, graph, triple[1], names or {}),
        tuple(find_nearest(explained, graph, triple, evidence, memory)),
        tuple(find_supporting(explained, graph, triple, evidence, memory)),
        tuple(try_removals(explained, graph, rows, asked, memory) if removals else ()),
        dict(names or {}),
    )


def check_explainable(model: Model) -> Translation:
    """Return the model if its score is a distance between entities that matrices project.

    Raises:
        ConfigError: It is not.
    """
    if not is_explainable(model):
        raise ConfigError(
            f"the score of the model {type(model).__name__} is not a distance between entities that matrices project, "
            "so neither its scores nor its relations can be explained; train itransf, stranse, transr or transe"
        )
    return model


def find_runner_up(model: Model, graph: Graph, triple: Triple, side: Side, memory: int) -> Triples | None:
    """Return the triple with the best other candidate as the answer, (3,); None where there is no other.

    As in prediction, known answers are excluded, and self-loops unless the relation has some in train.
    """
    given, column = (triple[0], 2) if side == "tail" else (triple[2], 0)
    with track("searching", 1, "queries", shown=False) as tracker:
        found = find_entities(Search(model, graph, top=2, memory=memory), triple[1], side, np.array([given]), tracker)
    others = found.triples[found.triples[:, column] != triple[column]]
    return others[0] if len(others) else None


@torch.no_grad()
def trace_concepts(
    model: Model, graph: Graph, relation: int, names: Mapping[int, str]
) -> Mapping[str, tuple[SharedConcept, ...]] | None:
    """Return who shares the concepts of a relation, for each side; None for a model without concepts."""
    if not isinstance(model, ConceptModel):
        return None
    behind = concepts_behind(read_attention(model, graph), graph.relations.name(relation), names)
    return {side: tuple(found) for side, found in behind.items()}


def try_removals(model: Model, graph: Graph, rows: Triples, side: Side, memory: int) -> list[Removal]:
    """Rank the answer of a triple (1, 3) without each concept of its relation, the worst rank first.

    Nothing is trained: entities, translation and the other concepts stay as they are. A concept that is the only one
    of its side cannot be removed.
    """
    if not isinstance(model, ConceptModel):
        return []
    relation, loops = int(rows[0, 1]), graph.statistics.has_loops
    found = []
    for number, changed in enumerate(SIDES):
        weights = model.concept_attention(changed).attention()[relation].detach()
        used = weights.nonzero().squeeze(1).tolist() if len(weights.nonzero()) > 1 else []
        for concept in sorted(used, key=lambda one: -abs(float(weights[one])))[:MOST_REMOVED]:
            removed = np.zeros((len(SIDES), model.sizes.relations, len(model.concepts)), dtype=np.bool_)
            removed[number, relation, concept] = True
            left = remove_concepts(model, removed)
            ranks = rank_triples(left, rows, graph.known, memory, loops=loops, keep_scores=True, sides=[side])
            assert ranks.scores is not None, "they are asked for"
            score = float(ranks.scores[SIDES.index(side), 0])
            found.append(Removal(changed, concept, float(weights[concept]), score, float(ranks.ranks(side)[0])))
    return sorted(found, key=lambda removal: (-removal.rank, removal.score))


@dataclass(frozen=True, eq=False)
class Split:
    """The distances of triples of one relation, split into parts.

    Attributes:
        parts: The concepts of the head side, the translation, the concepts of the tail side, (p,).
        values: Share of each part in each triple's distance, (n, p); the rows sum to the distances.
        distances: |P_head(h) + r - P_tail(t)|, the negated scores, (n,).
    """

    parts: tuple[Part, ...]
    values: npt.NDArray[np.float64]
    distances: npt.NDArray[np.float64]


@torch.no_grad()
def split_distances(model: Translation, triples: Triples) -> Split:
    """Split the distance f of each triple into the shares of its parts.

    With x = P_head(h) + r - P_tail(t) and u = sign(x) for the l1 norm, x / |x| for the l2 norm, f = <u, x>. Concept i
    adds <u, s a_i D_i h> on the head side and -<u, s a_i D_i t> on the tail side, the translation <u, r>, where s is
    the factor by which the model constrains the length of the projected vector. Everything is computed in double
    precision.

    Args:
        model: An explainable model.
        triples: (n, 3) triples of one relation.

    Returns:
        The split; a relation's own matrix (STransE, TransR) or the identity (TransE) is one part.
    """
    rows = torch.tensor(triples, device=model.entities.device)
    relation = int(triples[0, 1])
    translation = model.relations.detach()[relation].double()
    sides = {side: split_projection(model, relation, side) for side in SIDES}
    heads, tails = (
        project_parts(model, rows[:, column], sides[side][1]) for side, column in zip(SIDES, (0, 2), strict=True)
    )
    vectors = torch.cat([heads, translation.expand(len(rows), 1, -1), -tails], dim=1)  # (n, p, d)
    residuals = vectors.sum(1)  # (n, d)
    values = torch.einsum("npd,nd->np", vectors, find_direction(residuals, model.config.p_norm))
    distances = distance(residuals, model.config.p_norm)
    parts = (*sides["head"][0], Part("translation", None, None), *sides["tail"][0])
    return Split(parts, values.cpu().numpy(), distances.cpu().numpy())


def split_projection(model: Translation, relation: int, side: Side) -> tuple[tuple[Part, ...], Tensor]:
    """Return the parts of one side of a relation, and their matrices with weights multiplied in, (k, d, d)."""
    projection = model.projection(side)
    wanted = torch.tensor([relation], device=model.entities.device)
    if isinstance(projection, ConceptProjection):
        weights = projection.weights(wanted)[0].double()  # (k,)
        used = (weights != 0).nonzero().squeeze(1)
        concepts, weights = projection.support[relation][used], weights[used]
        pairs = zip(concepts.tolist(), weights.tolist(), strict=True)
        parts = tuple(Part(side, concept, weight) for concept, weight in pairs)
        return parts, weights[:, None, None] * projection.concepts[concepts].double()
    return (Part(side, None, None),), projection.matrices(wanted).double()


def project_parts(model: Translation, entities: Tensor, matrices: Tensor) -> Tensor:
    """Return the summands of the projections of entities (n,) by matrices (k, d, d), (n, k, d)."""
    moved = torch.einsum("kij,nj->nki", matrices, model.entities.detach()[entities].double())
    whole = moved.sum(1)  # (n, d)
    # The factor of the length constraint, from what the model itself makes of the whole vector.
    squares = whole.square().sum(1).clamp_min(torch.finfo(whole.dtype).tiny)
    factors = (model.limit_projected(whole) * whole).sum(1) / squares  # (n,)
    return moved * factors[:, None, None]


def find_direction(residuals: Tensor, norm: Norm) -> Tensor:
    """Return u with <u, x> = |x| for each residual x, (n, d): sign(x) or x / |x|; zero for zero."""
    if norm == 1:
        return residuals.sign()
    return torch.nn.functional.normalize(residuals, dim=1, eps=torch.finfo(residuals.dtype).tiny)


def list_contributions(split: Split) -> tuple[Contribution, ...]:
    """Return the share of each part in the order head, translation, tail; on each side the largest first."""
    own = split.values[0].tolist()
    others = split.values[1].tolist() if len(split.values) > 1 else [None] * len(own)
    found = [
        Contribution(part.side, part.concept, part.weight, value, rival, None if rival is None else rival - value)
        for part, value, rival in zip(split.parts, own, others, strict=True)
    ]
    return tuple(sorted(found, key=lambda part: (ORDER.index(part.side), -abs(part.value))))
