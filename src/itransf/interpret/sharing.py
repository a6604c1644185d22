"""Sharing: who else uses the concepts that a relation uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from itransf.interpret.attention import Attention, strongest_first
from itransf.models import SIDES, Side

WORTH_TELLING = 0.05
"""The weight from which a concept counts as used when sharing is told."""


@dataclass(frozen=True)
class Use:
    """One side of a relation that uses a concept."""

    relation: str
    label: str
    side: Side
    weight: float


@dataclass(frozen=True)
class SharedConcept:
    """A concept one side of a relation uses, and the others that use it too, strongest first; `name` if it has one."""

    concept: int
    weight: float
    others: tuple[Use, ...]
    name: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the same, ready for JSON."""
        return {**asdict(self), "others": [asdict(use) for use in self.others]}


def trace_sharing(
    attention: Attention,
    relation: str,
    side: Side,
    least: float = WORTH_TELLING,
    names: Mapping[int, str] | None = None,
) -> list[SharedConcept]:
    """Return the concepts one side of a relation uses, strongest first, and who shares each.

    Args:
        attention: Of the whole model.
        relation: A name or label.
        side: "head" or "tail".
        least: Smaller weights (in size) are passed over, here and elsewhere.
        names: What people call some of the concepts.

    Raises:
        DataError: The relation is not known.
    """
    number = attention.relations.index(relation)
    own = SIDES.index(side)
    weights = attention.weights[own, number]
    called = names or {}
    return [
        SharedConcept(
            concept,
            float(weights[concept]),
            _find_users(attention, concept, (own, number), least),
            called.get(concept, ""),
        )
        for concept in strongest_first(weights)
        if abs(weights[concept]) >= least
    ]


def concepts_behind(
    attention: Attention, relation: str, least: float = WORTH_TELLING, names: Mapping[int, str] | None = None
) -> dict[Side, list[SharedConcept]]:
    """Return what a prediction of this relation rests on: the shared concepts of both its sides."""
    return {side: trace_sharing(attention, relation, side, least, names) for side in SIDES}


def _find_users(attention: Attention, concept: int, apart_from: tuple[int, int], least: float) -> tuple[Use, ...]:
    """Return every side but one that uses a concept, strongest first."""
    weights = attention.weights[:, :, concept].copy()  # (2, r)
    weights[apart_from] = 0.0
    flat = weights.reshape(-1)
    order = [place for place in strongest_first(flat) if abs(flat[place]) >= least]
    numbers = [np.unravel_index(place, weights.shape) for place in order]
    return tuple(
        Use(
            attention.relations.name(int(relation)),
            attention.relations.label(int(relation)),
            SIDES[int(side)],
            float(weights[side, relation]),
        )
        for side, relation in numbers
    )
