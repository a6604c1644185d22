"""The translation family: -|P_head(h) + r - P_tail(t)|, whatever the projections P are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from itransf.models.base import SIDES, Compare, Pool, QueryModel, Side, Sizes, compare_grouped
from itransf.models.projection import NoProjection, Projection
from itransf.ops.distance import Length, Norm, distance, limit_length
from itransf.ops.grouping import Grouping


@dataclass(frozen=True)
class TranslationConfig:
    """Settings all translation models share.

    Attributes:
        dim: Length d of entity and relation vectors.
        p_norm: The distance, 1 or 2.
        entity_constraint: Length entity vectors are held to after each update.
        projected_constraint: Length projected vectors are held to (in the forward pass).
        matrix_lr_factor: Factor on the learning rate of projection matrices, and of the free weights of l1 attention.
            Below one matrices stay near the identity for longer, which keeps them from learning rare relations by
            heart.
        n3: Weight of the summed cubes of a triple's vectors, as they are and as projected (Lacroix et al., 2018).
    """

    dim: int = 50
    p_norm: Norm = 1
    entity_constraint: Length = "unit"
    projected_constraint: Length = "unit"
    matrix_lr_factor: float = 1.0
    n3: float = 0.0


class Translation(QueryModel):
    """Entity and relation vectors, a projection for each side, and a distance.

    `fused` declares that the compiled training steps compute this very class; it is not inherited.
    """

    Config: ClassVar[type] = TranslationConfig
    fused: ClassVar[bool] = False
    config: TranslationConfig
    project_head: Projection
    project_tail: Projection

    def __init__(self, sizes: Sizes, config: TranslationConfig) -> None:
        super().__init__(sizes, config)
        self.entities = nn.Parameter(start_vectors(sizes.entities, config.dim, config.entity_constraint))
        self.relations = nn.Parameter(start_vectors(sizes.relations, config.dim, config.entity_constraint))
        self.project_head = NoProjection()
        self.project_tail = NoProjection()

    @property
    def compare(self) -> Compare:
        """How a query is compared with a candidate."""
        return "l1" if self.config.p_norm == 1 else "l2"

    def project(self, entities: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return entities (b,) as their relations (b,) see them on `side`, (b, d)."""
        projection = self.project_head if side == "head" else self.project_tail
        vectors = projection(embedding(entities, self.entities, sparse=True), relations)
        return self.limit_projected(vectors)

    def limit_projected(self, vectors: Tensor) -> Tensor:
        """Hold projected vectors to the configured length."""
        return limit_length(vectors, self.config.projected_constraint)

    def translate(self, relations: Tensor) -> Tensor:
        """Return the relation vectors, (b, d)."""
        return embedding(relations, self.relations, sparse=True)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return -|P_head(h) + r - P_tail(t)|, (b,)."""
        head, tail = self.project(heads, relations, "head"), self.project(tails, relations, "tail")
        return -distance(head + self.translate(relations) - tail, self.config.p_norm)

    def to_bridge(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return P_tail(t) - P_head(h), (b, d)."""
        return self.project(tails, relations, "tail") - self.project(heads, relations, "head")

    def queries(self, anchors: Tensor, relations: Tensor, side: Side) -> Tensor:
        """Return P_head(h) + r when tails are asked for, P_tail(t) - r when heads are."""
        if side == "tail":
            return self.project(anchors, relations, "head") + self.translate(relations)
        return self.project(anchors, relations, "tail") - self.translate(relations)

    def pool(self, entities: Tensor | None = None) -> Pool:
        """Return the vectors of these entities, or of all."""
        if entities is None:
            return Pool(None, self.entities)
        return Pool(entities, embedding(entities, self.entities, sparse=True))

    def candidates(self, relations: Tensor, side: Side, pool: Pool) -> Tensor:
        """Return the pool projected as `side` of each relation (u,), (u, n, d)."""
        assert pool.vectors is not None, "pools of this model hold vectors"
        projection = self.project_head if side == "head" else self.project_tail
        return self.limit_projected(projection.project_table(pool.vectors, relations))

    def score_contrast(
        self, heads: Tensor, relations: Tensor, tails: Tensor, replaces_head: Tensor, replacements: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Score triples beside corrupted copies; every entity is projected once."""
        n = replacements.shape[1]
        head, other_heads = self._project_both(heads, relations, replaces_head, replacements, "head")
        tail, other_tails = self._project_both(tails, relations, ~replaces_head, replacements, "tail")
        translation = self.translate(relations)
        positive = -distance(head + translation - tail, self.config.p_norm)
        of_head, of_tail = replaces_head.nonzero().squeeze(1), (~replaces_head).nonzero().squeeze(1)
        wanted_heads, wanted_tails = (tail - translation)[of_head], (head + translation)[of_tail]  # (b', d)
        negative = torch.empty_like(positive)[:, None].repeat(1, n)
        negative = negative.index_copy(0, of_head, -distance(other_heads - wanted_heads[:, None], self.config.p_norm))
        negative = negative.index_copy(0, of_tail, -distance(wanted_tails[:, None] - other_tails, self.config.p_norm))
        return positive, negative

    def score_shared(
        self,
        heads: Tensor,
        relations: Tensor,
        tails: Tensor,
        owners: Tensor,
        replaces_head: Tensor,
        replacements: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Score triples beside negatives they share, each of which is projected once."""
        head, tail = self.project(heads, relations, "head"), self.project(tails, relations, "tail")
        translation = self.translate(relations)
        wanted = torch.where(replaces_head[owners, None], tail - translation, head + translation)
        counts = torch.bincount(owners)
        of_group = relations[counts.cumsum(0) - 1]  # (g,)
        tables = wanted.new_empty(*replacements.shape, wanted.shape[1])
        for side in SIDES:
            where = (replaces_head == (side == "head")).nonzero().squeeze(1)
            others, n = replacements[where], replacements.shape[1]
            projected = self.project(others.flatten(), of_group[where].repeat_interleave(n), side)
            tables = tables.index_copy(0, where, projected.view(-1, *tables.shape[1:]))
        grouping = Grouping(of_group, counts.tolist(), None)
        return -distance(head + translation - tail, self.config.p_norm), compare_grouped(
            wanted, tables, grouping, self.compare
        )

    def _project_both(
        self, entities: Tensor, relations: Tensor, replaced: Tensor, replacements: Tensor, side: Side
    ) -> tuple[Tensor, Tensor]:
        """Project a side's own entities (b, d) and the replacements (b', n, d) of the triples `replaced`."""
        others = replacements[replaced]  # (b', n)
        n = others.shape[1]
        everyone = torch.cat([entities, others.flatten()])
        their_relations = torch.cat([relations, relations[replaced].repeat_interleave(n)])
        projected = self.project(everyone, their_relations, side)
        own, rest = torch.split(projected, [len(entities), others.numel()])
        return own, rest.view(-1, n, projected.shape[-1])

    def penalty(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor | None:
        """Return the weighted mean over triples of the cubes of all vectors that take part."""
        if not self.config.n3:
            return None
        vectors = [
            embedding(heads, self.entities, sparse=True),
            embedding(tails, self.entities, sparse=True),
            self.translate(relations),
            self.project(heads, relations, "head"),
            self.project(tails, relations, "tail"),
        ]
        return self.config.n3 * torch.stack([vector.abs().pow(3).sum(1).mean() for vector in vectors]).sum()

    def rate(self, parameter: str) -> float:
        """Return the factor of matrices; vectors and the scores of a softmax learn at the full rate."""
        return self.config.matrix_lr_factor if parameter == "concepts" or parameter.endswith(".weight") else 1.0

    @torch.no_grad()
    def constrain(self, touched_entities: Tensor | None) -> None:
        """Hold the touched entity vectors to the configured length."""
        if self.config.entity_constraint == "none":
            return
        if touched_entities is None:
            self.entities.copy_(limit_length(self.entities, self.config.entity_constraint))
        else:
            rows = limit_length(self.entities[touched_entities], self.config.entity_constraint)
            self.entities.index_copy_(0, touched_entities, rows)


def start_vectors(count: int, dim: int, length: Length) -> Tensor:
    """Draw vectors uniformly from [-6/sqrt(d), 6/sqrt(d)], as TransE does, and hold them to `length`."""
    bound = 6.0 / dim**0.5
    drawn = torch.empty(count, dim, device="cpu").uniform_(-bound, bound)
    # Relation vectors start at unit length wherever entities are constrained, and are free afterwards (TransE).
    return limit_length(drawn, "none" if length == "none" else "unit")
