"""The space of a relation: its two projections taken apart into concepts, and its translation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from itransf.errors import ConfigError
from itransf.models import SIDES, Model, Side
from itransf.models.projection import ConceptProjection, MatrixProjection
from itransf.models.translation import Translation

PartSide = Literal["head", "translation", "tail"]

DEFAULT_MEMORY = 256 * 2**20
"""Bytes that projected entities may take at a time."""
_COPIES = 4  # a chunk of entities, projected, limited in length, and turned for the product


@dataclass(frozen=True)
class Part:
    """One of the summands of P_head(h) + r - P_tail(t).

    Attributes:
        side: "head", "tail" or "translation".
        concept: Its number; None for what is no concept: a relation's own matrix, or no matrix at all.
        weight: The attention on the concept.
    """

    side: PartSide
    concept: int | None = None
    weight: float | None = None


@dataclass(frozen=True, eq=False)
class Space:
    """Where a relation sees its heads and tails.

    Attributes:
        model: The model the relation belongs to.
        relation: The relation's number.
        parts: What each side is composed of.
        matrices: The matrices of these parts, weights included, (k, d, d); None: entities stay where they are.
        translation: The relation's vector, (d,).
    """

    model: Translation
    relation: int
    parts: Mapping[Side, tuple[Part, ...]]
    matrices: Mapping[Side, Tensor | None]
    translation: Tensor

    def vectors(self, entities: Tensor) -> Tensor:
        """Return the vectors of entities as the model holds them, in the precision of this space, (n, d)."""
        return self.model.entities.detach()[entities].to(self.translation.dtype)

    def place(self, entities: Tensor, side: Side) -> Tensor:
        """Return where entities (n,) stand on `side`, (n, d)."""
        matrices = self.matrices[side]
        vectors = self.vectors(entities)
        projected = vectors if matrices is None else vectors @ matrices.sum(0).T.contiguous()
        return self.model.limit_projected(projected)

    def place_parts(self, entities: Tensor, side: Side) -> Tensor:
        """Return what each part of `side` adds to where entities (n,) stand, (n, k, d)."""
        matrices = self.matrices[side]
        vectors = self.vectors(entities)
        moved = vectors[:, None] if matrices is None else torch.einsum("kij,nj->nki", matrices, vectors)
        whole = moved.sum(1)  # (n, d)
        # The factor of the unit or ball constraint: what the model's own rule makes of the whole.
        squares = whole.square().sum(1).clamp_min(torch.finfo(whole.dtype).tiny)
        factors = (self.model.limit_projected(whole) * whole).sum(1) / squares  # (n,)
        return moved * factors[:, None, None]

    def place_all(self, side: Side, memory: int = DEFAULT_MEMORY) -> Iterator[tuple[slice, Tensor]]:
        """Yield all entities chunk by chunk, with where they stand on `side`."""
        count, dim = self.model.entities.shape
        size = max(1, memory // (_COPIES * dim * self.translation.element_size()))
        for start in range(0, count, size):
            rows = slice(start, min(start + size, count))
            yield rows, self.place(torch.arange(rows.start, rows.stop, device=self.translation.device), side)

    def without(self, side: Side, place: int) -> Space | None:
        """Return the space without one part of a side, the other weights renormalised; None where none is left.

        The free weights of an l1 attention have no sum to keep: there the part just goes.
        """
        parts, matrices = self.parts[side], self.matrices[side]
        if matrices is None or len(parts) < 2:
            return None
        kept = [other for other in range(len(parts)) if other != place]
        rest = matrices[kept]
        if not is_free(self.model, side):
            rest = rest / sum(parts[other].weight or 0.0 for other in kept)
        return replace(
            self,
            parts={**self.parts, side: tuple(parts[other] for other in kept)},
            matrices={**self.matrices, side: rest},
        )


@torch.no_grad()
def open_space(model: Model, relation: int, dtype: torch.dtype | None = None) -> Space:
    """Take the space of a relation apart.

    Args:
        model: A model of the translation family.
        relation: The relation's number.
        dtype: The precision to compute in; the model's own, if not given.

    Raises:
        ConfigError: The model's score is no distance that could be split.
    """
    if not isinstance(model, Translation):
        raise ConfigError(
            f"the score of a {type(model).__name__} model is no distance between projected entities, so it cannot "
            "be split; train one of transe, transr, stranse and itransf to have explanations"
        )
    precision = dtype or model.entities.dtype
    read = {side: read_parts(model, relation, side, precision) for side in SIDES}
    return Space(
        model,
        relation,
        {side: parts for side, (parts, _) in read.items()},
        {side: matrices for side, (_, matrices) in read.items()},
        model.relations.detach()[relation].to(precision),
    )


def read_parts(
    model: Translation, relation: int, side: Side, dtype: torch.dtype
) -> tuple[tuple[Part, ...], Tensor | None]:
    """Return the parts of one side of a relation and their matrices, weights included."""
    projection = model.project_head if side == "head" else model.project_tail
    wanted = torch.tensor([relation], device=model.entities.device)
    if isinstance(projection, ConceptProjection):
        weights = projection.weights(wanted)[0].to(dtype)  # (k,)
        used = (weights != 0).nonzero().squeeze(1)
        concepts, weights = projection.support[relation][used], weights[used]
        pairs = zip(concepts.tolist(), weights.tolist(), strict=True)
        parts = tuple(Part(side, concept, weight) for concept, weight in pairs)
        return parts, weights[:, None, None] * projection.concepts[concepts].to(dtype)
    if isinstance(projection, MatrixProjection):
        return (Part(side),), projection.matrices(wanted).to(dtype)
    return (Part(side),), None


def is_free(model: Translation, side: Side) -> bool:
    """Return whether a side's weights have no sum to keep, as those of an l1 attention."""
    projection = model.project_head if side == "head" else model.project_tail
    return isinstance(projection, ConceptProjection) and projection.kind == "l1"
