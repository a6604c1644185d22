"""Changing concepts by hand: forbid, pin, merge, prune. Each function returns a new model and leaves the old one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace

import torch
from torch import Tensor

from itransf.errors import ConfigError
from itransf.models import SIDES, ITransF, Side
from itransf.models.projection import FORBIDDEN, FREE, PINNED, ConceptProjection
from itransf.teaching.supports import check_rules, drive_out, find_cheapest, swap, write_rule

FAINT = 0.01  # weight, as a share of the lightest other, of a concept that only fills a place in a support
Costs = Mapping[Side, Tensor]
"""What each relation's triples cost if a side used one concept alone, (r, m) for each side."""


@torch.no_grad()
def forbid(model: ITransF, costs: Costs, relation: int, side: Side, concept: int) -> ITransF:
    """Return the model with a concept barred from one side of a relation.

    If the side uses it, the cheapest other concept takes its place, and its score.
    """
    edited = deepcopy(model)
    projection = edited.concept_projection(side)
    write_rule(projection, relation, concept, FORBIDDEN)
    drive_out(projection, costs[side], relation)
    return edited


@torch.no_grad()
def pin(model: ITransF, relation: int, side: Side, concept: int) -> ITransF:
    """Return the model with a concept that one side of a relation always has in its support.

    If it is new there, it takes the place of the lightest that is not pinned, with the score of the heaviest.
    """
    edited = deepcopy(model)
    projection = edited.concept_projection(side)
    write_rule(projection, relation, concept, PINNED)
    support, scores = projection.support[relation], projection.scores[relation]
    if concept not in support.tolist():
        free = support[projection.rules[relation, support] != PINNED]
        lightest = int(free[scores[free].argmin()])
        swap(projection, relation, lightest, concept, scores[support].max())
    return edited


@torch.no_grad()
def merge(model: ITransF, costs: Costs, kept: int, gone: int, use: Tensor) -> ITransF:
    """Return the model with two concepts made one, which keeps the first one's number; those above the other move down.

    The matrix is the mean of both, weighted by their use. A side that used both gives it both weights; the place that
    falls free in its support goes to the cheapest other concept, at a faint weight.

    Args:
        model: Has both.
        costs: For filling free places.
        kept: The concept whose number stays.
        gone: The other.
        use: How much each concept is used, (m,).
    """
    if kept == gone:
        raise ConfigError(f"concept {kept} cannot be merged with itself; give two numbers")
    edited = deepcopy(model)
    shares = use[[kept, gone]] + torch.finfo(use.dtype).eps  # two that nobody uses count the same
    first, second = (shares / shares.sum()).tolist()
    edited.concepts[kept] = first * model.concepts[kept] + second * model.concepts[gone]
    for side in SIDES:
        projection = edited.concept_projection(side)
        merge_rules(projection, kept, gone)
        if projection.kind == "sparse":
            for relation in range(len(projection.support)):
                merge_members(projection, costs[side], relation, kept, gone)
        else:
            projection.scores[:, kept] = add_weights(projection, kept, gone)
    return select_concepts(edited, [concept for concept in range(len(model.concepts)) if concept != gone])


def merge_rules(projection: ConceptProjection, kept: int, gone: int) -> None:
    """Let the rules of both concepts hold for the one that stays, unless they contradict each other."""
    first, second = projection.rules[:, kept], projection.rules[:, gone]
    if bool((first * second == PINNED * FORBIDDEN).any()):
        raise ConfigError(
            f"concepts {kept} and {gone} cannot be merged: one is pinned to a side that the other is forbidden to"
        )
    projection.rules[:, kept] = torch.where(first == FREE, second, first)


def merge_members(projection: ConceptProjection, costs: Tensor, relation: int, kept: int, gone: int) -> None:
    """Let one support have the merged concept where it had either, and nothing that is forbidden to it."""
    support, scores = projection.support[relation], projection.scores[relation]
    if len(support) == len(scores):  # all are there, and all but one will be
        scores[kept] = add_weights(projection, kept, gone)[relation]
        return
    if gone in support.tolist() and kept in support.tolist():
        scores[kept] = add_weights(projection, kept, gone)[relation]
        lightest = scores[support[support != gone]].min()
        faint = lightest + projection.temperature * torch.tensor(FAINT, device="cpu").log().to(lightest)
        swap(projection, relation, gone, find_cheapest(projection, costs, relation, [gone]), faint)
    elif gone in support.tolist():
        swap(projection, relation, gone, kept, scores[gone])
    drive_out(projection, costs, relation, [gone])


def add_weights(projection: ConceptProjection, first: int, second: int) -> Tensor:
    """Return the scores (r,) that weigh as much as two concepts together."""
    scores = projection.scores[:, [first, second]]
    if projection.kind == "l1":
        return scores.sum(1)
    return projection.temperature * torch.logsumexp(scores / projection.temperature, dim=1)


@torch.no_grad()
def prune(model: ITransF, costs: Costs, kept: Sequence[int]) -> ITransF:
    """Return the model with these concepts alone, numbered from zero in their order.

    Where a support loses one, the cheapest of those that stay takes its place, and its score.
    """
    edited = deepcopy(model)
    gone = sorted(set(range(len(model.concepts))) - set(kept))
    for side in SIDES:
        projection = edited.concept_projection(side)
        if bool((projection.rules[:, gone] == PINNED).any()):
            raise ConfigError("a pinned concept cannot be pruned; keep more concepts")
        if projection.kind == "sparse" and projection.support.shape[1] <= len(kept):
            for relation in range(len(projection.support)):
                drive_out(projection, costs[side], relation, gone)
    return select_concepts(edited, sorted(kept))


@torch.no_grad()
def select_concepts(model: ITransF, kept: Sequence[int]) -> ITransF:
    """Return the model with fewer concepts; supports hold no other, or hold all that are left."""
    sparse = model.config.attention == "sparse"
    size = min(model.config.support_size, len(kept)) if sparse else model.config.support_size
    config = replace(model.config, concepts=len(kept), support_size=size)
    with torch.random.fork_rng(devices=[]):
        smaller = ITransF(model.sizes, config).to(model.concepts.device).eval()
    smaller.entities.copy_(model.entities)
    smaller.relations.copy_(model.relations)
    smaller.concepts.copy_(model.concepts[list(kept)])
    numbers = torch.full((len(model.concepts),), -1, device=model.concepts.device)
    numbers[list(kept)] = torch.arange(len(kept), device=numbers.device)
    for side in SIDES:
        old, new = model.concept_projection(side), smaller.concept_projection(side)
        new.scores.copy_(old.scores[:, list(kept)])
        new.rules.copy_(old.rules[:, list(kept)])
        if new.support.shape == old.support.shape:
            new.support.copy_(numbers[old.support].sort(dim=1).values)
        check_rules(new)
    return smaller
