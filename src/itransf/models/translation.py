"""The translation family: -|P_head(h) + r - P_tail(t)|, with a projection P for each side."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from itransf.config import setting
from itransf.models.base import (
    SIDES,
    SMALL,
    Compare,
    Operation,
    Part,
    Pool,
    QueryModel,
    Side,
    Sizes,
    Split,
    TrainingGraph,
    look_up,
)
from itransf.models.concepts import AttentionKind, ConceptModel
from itransf.models.projection import ConceptProjection, NoProjection, Projection
from itransf.ops.distance import Length, Norm, distance, limit_length
from itransf.ops.grouped import spread_product


@dataclass(frozen=True)
class TranslationConfig:
    """Settings of all translation models."""

    dim: int = setting(100, "Dimension d of entity and relation embeddings.", "64 under 20,000 triples, else 100")
    p_norm: Literal[1, 2] = setting(2, "Norm of the distance: 1 or 2.")
    entity_constraint: Literal["unit", "ball", "none"] = setting(
        "none", "Constraint on the length of entity embeddings after each update: unit length, unit ball, or none."
    )
    projected_constraint: Literal["unit", "ball", "none"] = setting(
        "none", "Constraint on the length of projected embeddings in the forward pass: unit length, unit ball, or none."
    )
    matrix_lr_factor: float = setting(
        0.03,
        "Learning-rate multiplier for projection matrices and free attention weights. Values below 1 keep matrices "
        "near the identity and reduce overfitting on rare relations.",
        "1 for lineare and ilineare; else 0.01 under 20,000 triples, 0.03 from there on",
    )


class Translation(QueryModel):
    """Entity and relation embeddings, a projection for each side, and a distance.

    Attributes:
        projection_kind: Makes the projection of a side, from the numbers of relations and dimensions.
        one_projection: Whether both sides have the same one.
        tuned: Learning rate and weight of N3 for a small graph, chosen on validation (`results/tuning-world-*.json`).
    """

    Config: ClassVar[type] = TranslationConfig
    operation: ClassVar[Operation | None] = "add"
    starts_from: ClassVar[str] = "transe"
    projection_kind: ClassVar[Callable[..., Projection]] = NoProjection
    one_projection: ClassVar[bool] = False
    tuned: ClassVar[tuple[float, float]] = (0.08, 0.0)
    config: TranslationConfig
    project_head: Projection
    project_tail: Projection

    def __init__(self, sizes: Sizes, config: TranslationConfig) -> None:
        super().__init__(sizes, config)
        self.entities = nn.Parameter(start_vectors(sizes.entities, config.dim, config.entity_constraint))
        self.relations = nn.Parameter(start_vectors(sizes.relations, config.dim, config.entity_constraint))
        make = type(self).projection_kind
        self.project_head = make(sizes.relations, config.dim)
        self.project_tail = self.project_head if self.one_projection else make(sizes.relations, config.dim)

    @classmethod
    def defaults(cls, graph: TrainingGraph, device: str) -> dict[str, dict[str, Any]]:
        """Return settings for a graph, chosen on validation of `world` (small) and CoDEx-S (large)."""
        found = super().defaults(graph, device)
        is_small = len(graph.train) < SMALL
        rate, weight = cls.tuned if is_small else (0.015, 0.003)
        found["model"] = {"matrix_lr_factor": 0.01 if is_small else 0.03} | found["model"]
        found["training"] |= {"learning_rate": rate}
        return found | {"regularizer": {"weight": weight}}

    @property
    def is_explainable(self) -> bool:
        """Whether the score is exactly the family's distance between projected entities."""
        family = ("score", "project", "limit_projected", "translate")
        return all(getattr(type(self), name) is getattr(Translation, name) for name in family)

    @property
    def has_matrices(self) -> bool:
        """Whether the score is the family's, and matrices of the relation project its entities."""
        projections = (self.project_head, self.project_tail)
        return self.is_explainable and all(
            isinstance(each, Projection) and type(each).matrices is not Projection.matrices for each in projections
        )

    @property
    def compare(self) -> Compare:
        """Norm of the distance."""
        return "l1" if self.config.p_norm == 1 else "l2"

    def project(self, entities: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return entities (b,) projected as `side` of their relations (b,), (b, d)."""
        return self.limit_projected(self.projection(side)(look_up(self.entities, entities), relations))

    def projection(self, side: Side) -> Projection:
        """Return the projection of one side."""
        return self.project_head if side == "head" else self.project_tail

    def limit_projected(self, vectors: Tensor) -> Tensor:
        """Apply the constraint on projected embeddings."""
        return limit_length(vectors, self.config.projected_constraint)

    def translate(self, relations: Tensor) -> Tensor:
        """Return the relation embeddings, (b, d)."""
        return look_up(self.relations, relations)

    @torch.no_grad()
    def split_scores(self, triples: Tensor) -> Split:
        """Split the distance f of each triple (n, 3) of one relation into the shares of its parts.

        With x = P_head(h) + r - P_tail(t) and u = sign(x) for the l1 norm, x / |x| for the l2 norm, f = <u, x>. Concept
        i adds <u, s a_i D_i h> on the head side and -<u, s a_i D_i t> on the tail side, the translation <u, r>, where s
        is the factor by which the model constrains the length of the projected vector. A relation's own matrix
        (STransE, TransR), the identity (TransE) or a projection that is no matrix (TransD) is one part.
        """
        relation = int(triples[0, 1])
        translation = self.relations.detach()[relation].double()
        head_parts, heads = split_side(self, triples[:, 0], relation, "head")
        tail_parts, tails = split_side(self, triples[:, 2], relation, "tail")
        vectors = torch.cat([heads, translation.expand(len(triples), 1, -1), -tails], dim=1)  # (n, p, d)
        residuals = vectors.sum(1)  # (n, d)
        values = torch.einsum("npd,nd->np", vectors, find_direction(residuals, self.config.p_norm))
        parts = (*head_parts, Part("translation", None, None), *tail_parts)
        return Split(parts, values, distance(residuals, self.config.p_norm), is_distance=True)

    def exact_translations(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return P_tail(t) - P_head(h), (b, d): the translation that would fit each triple exactly."""
        return self.project(tails, relations, "tail") - self.project(heads, relations, "head")

    @torch.no_grad()
    def start_relation(self, heads: Tensor, tails: Tensor) -> None:
        """Start the last relation's embedding at the mean of its exact translations."""
        last = torch.full_like(heads, self.sizes.relations - 1)
        self.relations[-1] = self.exact_translations(heads, last, tails).mean(0)

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return P_head(h) + r when tails are asked for, P_tail(t) - r when heads are."""
        if side == "tail":
            return self.project(anchors, relations, "head") + self.translate(relations)
        return self.project(anchors, relations, "tail") - self.translate(relations)

    def candidates(self, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the pool projected as `side` of each relation (u,), (u, n, d)."""
        assert pool.vectors is not None, "pools of query models hold vectors"
        return self.limit_projected(self.projection(side).project_table(pool.vectors, relations))

    def answers(self, entities: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return entities projected as `side` of their relations, (b, d)."""
        return self.project(entities, relations, side)

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        """Return the embeddings of each triple, and its entities as projected."""
        return (
            look_up(self.entities, heads),
            look_up(self.entities, tails),
            self.translate(relations),
            self.project(heads, relations, "head"),
            self.project(tails, relations, "tail"),
        )

    def learning_rate_factor(self, parameter: str) -> float:
        """Return the factor of matrices and of free attention weights, which scale them; all else has the full rate."""
        is_free = parameter.endswith(".scores") and getattr(self.project_head, "has_free_weights", False)
        is_matrix = parameter == "concepts" or parameter.endswith(".weight")
        return self.config.matrix_lr_factor if is_matrix or is_free else 1.0

    @torch.no_grad()
    def constrain(self, entities: Tensor | None, relations: Tensor | None) -> None:
        """Apply the constraint on entity embeddings."""
        if self.config.entity_constraint == "none":
            return
        if entities is None:
            self.entities.copy_(self.limit_entities(self.entities))
        else:
            self.entities.index_copy_(0, entities, self.limit_entities(self.entities[entities]))

    def limit_entities(self, rows: Tensor) -> Tensor:
        """Apply the constraint on entity embeddings to rows of their table."""
        return limit_length(rows, self.config.entity_constraint)


class ConceptTranslation(Translation, ConceptModel):
    """A translation model whose projections are composed of concepts."""

    project_head: ConceptProjection
    project_tail: ConceptProjection

    def add_concepts(self, concepts: Tensor, support_size: int, temperature: float, kind: AttentionKind) -> None:
        """Start with these concepts, and with projections by them."""
        self.concepts = nn.Parameter(concepts)
        for side in SIDES:
            projection = ConceptProjection(self.concepts, self.sizes.relations, support_size, temperature, kind)
            setattr(self, f"project_{side}", projection)

    def concept_attention(self, part: str) -> ConceptProjection:
        """Return the attention, supports and rules of one side."""
        return self.project_head if part == "head" else self.project_tail


def split_side(model: Translation, entities: Tensor, relation: int, side: Side) -> tuple[tuple[Part, ...], Tensor]:
    """Return the parts of one side of a relation, and the summands of the projections of entities (n,), (n, k, d)."""
    if model.has_matrices:
        parts, matrices = split_projection(model, relation, side)
        return parts, project_parts(model, entities, matrices)
    projected = model.project(entities, torch.full_like(entities, relation), side)
    return (Part(side, None, None),), projected.double()[:, None]


def split_projection(model: Translation, relation: int, side: Side) -> tuple[tuple[Part, ...], Tensor]:
    """Return the parts of one side of a relation, and their matrices (k, d, d) or diagonals (k, d), times weights."""
    projection = model.projection(side)
    wanted = torch.tensor([relation], device=model.entities.device)
    if isinstance(projection, ConceptProjection):
        weights = projection.weights(wanted)[0].double()  # (k,)
        used = (weights != 0).nonzero().squeeze(1)
        concepts, weights = projection.support[relation][used], weights[used]
        assert isinstance(model, ConceptModel), "its projections are composed of concepts"
        pairs = zip(concepts.tolist(), model.shown_weights(side)[relation, concepts].tolist(), strict=True)
        parts = tuple(Part(side, concept, weight) for concept, weight in pairs)
        return parts, torch.einsum("k,k...->k...", weights, projection.concepts[concepts].double())
    return (Part(side, None, None),), projection.matrices(wanted).double()


def project_parts(model: Translation, entities: Tensor, matrices: Tensor) -> Tensor:
    """Return the summands of the projections of entities (n,) by matrices (k, d, d) or diagonals (k, d), (n, k, d)."""
    moved = spread_product(model.entities.detach()[entities].double(), matrices).transpose(0, 1)
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


def start_vectors(count: int, dim: int, length: Length) -> Tensor:
    """Draw embeddings uniformly from [-6/sqrt(d), 6/sqrt(d)], as TransE does, of unit length where constrained."""
    bound = 6.0 / dim**0.5
    drawn = torch.empty(count, dim, device="cpu").uniform_(-bound, bound)
    # Relation vectors start at unit length wherever entities are constrained, and are free afterwards (TransE).
    return limit_length(drawn, "none" if length == "none" else "unit")
