"""The block-iterative step: each relation side takes the k concepts that do best alone (paper, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from itransf.config import AssignmentConfig
from itransf.models.base import SIDES, Model, Side
from itransf.training.choosing import choose_lowest, choose_pairs, obey
from itransf.training.losses import ContrastLoss
from itransf.training.pairing import fit_translations, pair_costs
from itransf.training.sample import NEARNESS, Sample, corrupted_triples, count_numbers


@dataclass(frozen=True)
class AssignmentReport:
    """What a step did.

    Attributes:
        changed: Share of relations whose supports are now others.
        rejected: Share of the proposed changes that were refused because the loss would have risen.
    """

    changed: float
    rejected: float


def is_due(schedule: AssignmentConfig, epoch: int, epochs: int) -> bool:
    """Return whether concepts are chosen after an epoch, of all `epochs`, the first of which is 1."""
    if not schedule.every or not schedule.start <= epoch <= schedule.stop * epochs:
        return False
    return (epoch - schedule.start) % schedule.every == 0


@torch.no_grad()
def single_concept_costs(model: Model, sample: Sample, side: Side, loss: ContrastLoss) -> Tensor:
    """Return each relation's loss if `side` had one concept alone, (r, m), in bounded memory.

    A relation whose triples are beyond the margin with any concept would cost nothing with all of them. So that such
    relations do not all choose the first ones, distances are added to the costs, too small to matter otherwise.
    """
    costs: Tensor | None = None
    per_triple = sample.corruption.replacements.shape[1] + 1
    probe = model.single_concept_scores(sample.heads[:1], sample.relations[:1], sample.tails[:1], side)
    width = max(probe.shape[1], getattr(model.config, "dim", 1))
    for part in sample.chunks(max(1, count_numbers(sample.heads.device) // (per_triple * width))):
        own, copies = (part.heads, part.relations, part.tails), corrupted_triples(part)
        heads, relations, tails = (torch.cat(columns) for columns in zip(own, copies, strict=True))
        scores = model.single_concept_scores(heads, relations, tails, side)  # (b + b * n, m)
        b, m = len(part.heads), scores.shape[1]
        negative = scores[b:].view(b, -1, m).transpose(1, 2).reshape(b * m, -1)  # (b * m, n)
        losses = loss(scores[:b].reshape(b * m), negative).view(b, m) - NEARNESS * scores[:b]
        if costs is None:
            costs = losses.new_zeros(model.sizes.relations, m, dtype=torch.float64)  # sums of many small numbers
        costs.index_add_(0, part.relations, losses.double())
    assert costs is not None, "a graph without training triples is refused when it is read"
    return costs


@torch.no_grad()
def relation_losses(model: Model, sample: Sample, loss: ContrastLoss) -> Tensor:
    """Return each relation's loss on the sample under its present supports, (r,)."""
    totals = torch.zeros(model.sizes.relations, dtype=torch.float64, device=sample.heads.device)
    width = (sample.corruption.replacements.shape[1] + 1) * getattr(model.config, "dim", 1)
    for part in sample.chunks(max(1, count_numbers(sample.heads.device) // width)):
        positive, negative = model.score_contrast(part.heads, part.relations, part.tails, *part.corruption)
        totals.index_add_(0, part.relations, loss(positive, negative).double())
    return totals


@torch.no_grad()
def reassign(model: Model, sample: Sample, loss: ContrastLoss, config: AssignmentConfig) -> AssignmentReport:
    """Choose every relation's supports anew, writing them into the model."""
    seen = torch.zeros(model.sizes.relations, dtype=torch.bool, device=sample.heads.device)
    seen[sample.relations] = True
    before = {side: support.clone() for side in SIDES if (support := model.supports(side)) is not None}
    loss_before = relation_losses(model, sample, loss) if config.accept == "if_better" else None
    found = _choose(model, sample, loss, config, before)
    chosen = {side: torch.where(seen[:, None], found[side], old) for side, old in before.items()}
    moved = torch.stack([(chosen[side] != old).any(1) for side, old in before.items()]).any(0)
    _write(model, chosen)
    translations = fit_translations(model, sample, moved) if config.search == "pairs" else None
    proposed, rejected = int(moved.sum()), 0
    if loss_before is not None:
        worse = moved & (relation_losses(model, sample, loss) > loss_before)
        _write(model, {side: torch.where(worse[:, None], before[side], chosen[side]) for side in before})
        if translations is not None:
            model.get_parameter("relations")[worse] = translations[worse]
        rejected = int(worse.sum())
        moved &= ~worse
    return AssignmentReport(float(moved.sum()) / max(int(seen.sum()), 1), rejected / max(proposed, 1))


def _choose(
    model: Model, sample: Sample, loss: ContrastLoss, config: AssignmentConfig, before: dict[Side, Tensor]
) -> dict[Side, Tensor]:
    """Return new supports of the sides that have some now."""
    sizes = {side: support.shape[1] for side, support in before.items()}
    if config.search == "pairs":
        rules = {side: found for side in SIDES if (found := model.rules(side)) is not None}
        return choose_pairs(pair_costs(model, sample, loss), sizes["head"], rules, config.tolerance)
    return {
        side: choose_lowest(obey(single_concept_costs(model, sample, side, loss), model.rules(side)), size)
        for side, size in sizes.items()
    }


def _write(model: Model, chosen: dict[Side, Tensor]) -> None:
    for side, support in chosen.items():
        place = model.supports(side)
        assert place is not None, "it had supports to choose anew"
        place.copy_(support)
