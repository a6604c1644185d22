"""Changing single supports under rules that a person made."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from itransf.errors import ConfigError
from itransf.models.projection import FORBIDDEN, PINNED, ConceptProjection


def write_rule(projection: ConceptProjection, relation: int, concept: int, rule: int) -> None:
    """Write a rule down, unless the support could not be filled under it."""
    if projection.kind != "sparse":
        raise ConfigError(
            f"attention of kind {projection.kind!r} has no supports: every side uses all concepts, so none can be "
            'forbidden or pinned; train with model.attention = "sparse"'
        )
    projection.rules[relation, concept] = rule
    check_rules(projection)


def check_rules(projection: ConceptProjection) -> None:
    """Refuse rules under which a support could not have its size."""
    m, size = projection.rules.shape[1], projection.support.shape[1]
    pinned, forbidden = (int((projection.rules == rule).sum(1).max()) for rule in (PINNED, FORBIDDEN))
    if pinned > size:
        raise ConfigError(
            f"{pinned} concepts would be pinned to one side of a relation, whose support holds {size} "
            "(model.support_size); pin fewer"
        )
    if m - forbidden < size:
        raise ConfigError(
            f"{forbidden} of {m} concepts would be forbidden to one side of a relation, whose support holds {size} "
            "(model.support_size); forbid fewer"
        )


def swap(projection: ConceptProjection, relation: int, leaving: int, entering: int, score: Tensor) -> None:
    """Put one concept in another's place in a support, with this score."""
    support = projection.support[relation]
    projection.support[relation] = torch.where(support == leaving, entering, support).sort().values
    projection.scores[relation, entering] = score


def find_cheapest(projection: ConceptProjection, costs: Tensor, relation: int, gone: Sequence[int]) -> int:
    """Return the cheapest concept that a support may take in: not there yet, not forbidden, not gone."""
    barred = projection.rules[relation] == FORBIDDEN
    barred[projection.support[relation]] = True
    barred[list(gone)] = True
    return int(costs[relation].masked_fill(barred, torch.inf).argmin())


def drive_out(projection: ConceptProjection, costs: Tensor, relation: int, gone: Sequence[int] = ()) -> None:
    """Replace what a support may not hold (forbidden, or gone) by the cheapest that it may, score for score."""
    for member in projection.support[relation].tolist():
        if projection.rules[relation, member] == FORBIDDEN or member in gone:
            entering = find_cheapest(projection, costs, relation, gone)
            swap(projection, relation, member, entering, projection.scores[relation, member])
