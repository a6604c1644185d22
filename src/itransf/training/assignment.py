"""The block-iterative step: each relation side takes the k concepts that do best alone (paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from itransf.config import AssignmentConfig
from itransf.models.base import SIDES, Model, Side
from itransf.models.projection import FORBIDDEN, PINNED
from itransf.ops.grouping import occurrence_numbers
from itransf.training.losses import ContrastLoss
from itransf.training.negatives import Corruption, NegativeSampler

CHUNK_NUMBERS = 1 << 24  # floats a chunk's largest tensor may hold
NEARNESS = 1e-6  # share of a fact's distance in its cost: of concepts that cost the same, those nearest are chosen
SHARE_OF_FREE = 64  # free bytes of a GPU for each such float: it has 4, and about six such tensors live at once


@dataclass(frozen=True)
class AssignmentReport:
    """What a step did.

    Attributes:
        changed: Share of relations whose supports are now others.
        rejected: Share of the proposed changes that were refused because the loss would have risen.
    """

    changed: float
    rejected: float


@dataclass(frozen=True)
class Sample:
    """The facts and negatives a step judges by: the same for all concepts, before and after."""

    heads: Tensor
    relations: Tensor
    tails: Tensor
    corruption: Corruption

    def chunks(self, size: int) -> Iterator[Sample]:
        """Yield the sample in pieces of at most `size` facts."""
        for start in range(0, len(self.heads), size):
            part = slice(start, start + size)
            yield Sample(
                self.heads[part],
                self.relations[part],
                self.tails[part],
                Corruption(*(tensor[part] for tensor in self.corruption)),
            )


def draw_sample(
    train: Tensor,
    sampler: NegativeSampler,
    facts_per_relation: int,
    negatives: int,
    generator: torch.Generator,
) -> Sample:
    """Choose the facts, all or at most so many per relation, and corrupt them."""
    facts = torch.arange(len(train), device=train.device)
    if facts_per_relation:
        facts = facts[torch.randperm(len(facts), generator=generator, device=train.device)]
        facts = facts[occurrence_numbers(train[facts, 1]) < facts_per_relation]
    facts = facts[torch.argsort(train[facts, 1], stable=True)]
    heads, relations, tails = train[facts].unbind(1)
    return Sample(heads, relations, tails, sampler.corrupt(facts, negatives, generator))


@torch.no_grad()
def single_concept_costs(model: Model, sample: Sample, side: Side, loss: ContrastLoss) -> Tensor:
    """Return each relation's loss if `side` had one concept alone, (r, m), in bounded memory.

    A relation whose facts are beyond the margin with any concept would cost nothing with all of them. So that such
    relations do not all choose the first ones, distances are added to the costs, too small to matter otherwise.
    """
    costs: Tensor | None = None
    per_fact = sample.corruption.replacements.shape[1] + 1
    probe = model.single_concept_scores(sample.heads[:1], sample.relations[:1], sample.tails[:1], side)
    width = max(probe.shape[1], getattr(model.config, "dim", 1))
    for part in sample.chunks(max(1, count_numbers(sample.heads.device) // (per_fact * width))):
        own, copies = (part.heads, part.relations, part.tails), corrupted_facts(part)
        heads, relations, tails = (torch.cat(columns) for columns in zip(own, copies, strict=True))
        scores = model.single_concept_scores(heads, relations, tails, side)  # (b + b * n, m)
        b, m = len(part.heads), scores.shape[1]
        negative = scores[b:].view(b, -1, m).transpose(1, 2).reshape(b * m, -1)  # (b * m, n)
        losses = loss(scores[:b].reshape(b * m), negative).view(b, m) - NEARNESS * scores[:b]
        if costs is None:
            costs = losses.new_zeros(model.sizes.relations, m)
        costs.index_add_(0, part.relations, losses)
    assert costs is not None, "a graph without training facts is refused when it is read"
    return costs


def count_numbers(device: torch.device) -> int:
    """Return how many floats a chunk's largest tensor may hold: on a GPU a part of what is free."""
    if device.type != "cuda":
        return CHUNK_NUMBERS
    free, _ = torch.cuda.mem_get_info(device)
    return max(CHUNK_NUMBERS, free // SHARE_OF_FREE)


def corrupted_facts(sample: Sample) -> tuple[Tensor, Tensor, Tensor]:
    """Return heads, relations and tails of the corrupted copies, (b * n,) each."""
    replaces_head, replacements = sample.corruption
    heads = torch.where(replaces_head[:, None], replacements, sample.heads[:, None])
    tails = torch.where(replaces_head[:, None], sample.tails[:, None], replacements)
    return heads.flatten(), sample.relations.repeat_interleave(replacements.shape[1]), tails.flatten()


@torch.no_grad()
def relation_losses(model: Model, sample: Sample, loss: ContrastLoss) -> Tensor:
    """Return each relation's loss on the sample under its present supports, (r,)."""
    totals = torch.zeros(model.sizes.relations, dtype=torch.float64, device=sample.heads.device)
    width = (sample.corruption.replacements.shape[1] + 1) * getattr(model.config, "dim", 1)
    for part in sample.chunks(max(1, count_numbers(sample.heads.device) // width)):
        positive, negative = model.score_contrast(part.heads, part.relations, part.tails, *part.corruption)
        totals.index_add_(0, part.relations, loss(positive, negative).double())
    return totals


def choose_lowest(costs: Tensor, size: int) -> Tensor:
    """Return the `size` cheapest concepts of each relation, ascending by number, (r, k)."""
    return costs.topk(size, dim=1, largest=False).indices.sort(dim=1).values


def obey(costs: Tensor, rules: Tensor | None) -> Tensor:
    """Return costs under which pinned concepts are chosen first and forbidden ones never."""
    if rules is None:
        return costs
    return costs.masked_fill(rules == PINNED, -torch.inf).masked_fill(rules == FORBIDDEN, torch.inf)


@torch.no_grad()
def reassign(model: Model, sample: Sample, loss: ContrastLoss, config: AssignmentConfig) -> AssignmentReport:
    """Choose every relation's supports anew, writing them into the model."""
    rounds: tuple[tuple[Side, ...], ...] = (SIDES,) if config.sides == "together" else (("head",), ("tail",))
    seen = torch.zeros(model.sizes.relations, dtype=torch.bool, device=sample.heads.device)
    seen[sample.relations] = True
    changed = torch.zeros_like(seen)
    proposed = refused = 0
    for sides in rounds:
        supports = {side: model.supports(side) for side in sides}
        before = {side: support.clone() for side, support in supports.items() if support is not None}
        chosen = {
            side: torch.where(
                seen[:, None],
                choose_lowest(obey(single_concept_costs(model, sample, side, loss), model.rules(side)), old.shape[1]),
                old,
            )
            for side, old in before.items()
        }
        loss_before = relation_losses(model, sample, loss) if config.accept == "if_better" else None
        _write(supports, chosen)
        moved = torch.stack([(chosen[side] != before[side]).any(1) for side in before]).any(0)
        proposed += int(moved.sum())
        if loss_before is not None:
            worse = moved & (relation_losses(model, sample, loss) > loss_before)
            kept = {side: torch.where(worse[:, None], before[side], chosen[side]) for side in before}
            _write(supports, kept)
            refused += int(worse.sum())
            moved &= ~worse
        changed |= moved
    return AssignmentReport(float(changed.sum()) / max(int(seen.sum()), 1), refused / max(proposed, 1))


def _write(supports: dict[Side, Tensor | None], chosen: dict[Side, Tensor]) -> None:
    for side, support in supports.items():
        if support is not None:
            support.copy_(chosen[side])
