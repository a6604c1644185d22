"""The block-iterative step of the paper: assign to each side of a relation the concepts with the lowest loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from itransf.config import AssignmentConfig
from itransf.data.leakage import Structure
from itransf.models.base import SIDES, Model, Side, list_negatives
from itransf.models.concepts import FORBIDDEN, PINNED, ConceptModel, ProjectingConcepts, random_supports
from itransf.ops.grouped import occurrence_numbers
from itransf.training.losses import ContrastLoss
from itransf.training.negatives import Corruption, NegativeSampler
from itransf.training.objectives import MASKED

CHUNK_NUMBERS = 1 << 24  # floats that the largest tensor of a chunk may hold
NEARNESS = 1e-6  # weight of distances in costs: ties are broken by distance
SHARE_OF_FREE = 64  # free bytes of a GPU per such float: each has 4, and about six such tensors exist at once


@dataclass(frozen=True)
class Sample:
    """Triples and negatives that a step scores all concepts on; `left_out` (b, n) masks negatives of a pair search."""

    heads: Tensor
    relations: Tensor
    tails: Tensor
    corruption: Corruption
    left_out: Tensor | None = None

    def chunks(self, numbers: int) -> Iterator[Sample]:
        """Yield the sample in pieces that fit the memory, given the floats of a triple in the largest tensor."""
        size = max(1, count_numbers(self.heads.device) // numbers)
        for start in range(0, len(self.heads), size):
            part = slice(start, start + size)
            corruption = Corruption(*(tensor[part] for tensor in self.corruption))
            left_out = None if self.left_out is None else self.left_out[part]
            yield Sample(self.heads[part], self.relations[part], self.tails[part], corruption, left_out)


def draw_sample(
    train: Tensor,
    sampler: NegativeSampler,
    triples_per_relation: int,
    negatives: int,
    generator: torch.Generator,
    factors: Tensor | None = None,
) -> Sample:
    """Draw triples, all or a maximum per relation, and their negatives.

    Triples with different factors (f,) are drawn again and again, in proportion to them.
    """
    triples = torch.arange(len(train), device=train.device)
    if factors is not None and (factors != factors[0]).any():
        bounds = factors.double().cumsum(0)
        draws = torch.rand(len(train), generator=generator, device=train.device, dtype=torch.float64)
        triples = torch.searchsorted(bounds, draws * bounds[-1], right=True).clamp_max(len(train) - 1)
    if triples_per_relation:
        triples = triples[torch.randperm(len(triples), generator=generator, device=train.device)]
        triples = triples[occurrence_numbers(train[triples, 1]) < triples_per_relation]
    triples = triples[torch.argsort(train[triples, 1], stable=True)]
    heads, relations, tails = train[triples].unbind(1)
    return Sample(heads, relations, tails, sampler.corrupt(triples, negatives, generator))


def count_numbers(device: torch.device) -> int:
    """Return how many floats the largest tensor of a chunk may hold: on a GPU a share of the free memory."""
    if device.type != "cuda":
        return CHUNK_NUMBERS
    free, _ = torch.cuda.mem_get_info(device)
    return max(CHUNK_NUMBERS, free // SHARE_OF_FREE)


@dataclass(frozen=True)
class AssignmentReport:
    """Result of a step.

    Attributes:
        changed: Fraction of relations whose supports changed.
        rejected: Fraction of the proposed changes that were rejected because the loss would have risen.
    """

    changed: float
    rejected: float


def is_due(schedule: AssignmentConfig, epoch: int, epochs: int) -> bool:
    """Return whether a step is due after an epoch, counted from 1."""
    if not schedule.every or not schedule.start <= epoch <= schedule.stop * epochs:
        return False
    return (epoch - schedule.start) % schedule.every == 0


@torch.no_grad()
def single_concept_costs(model: ProjectingConcepts, sample: Sample, side: Side, loss: ContrastLoss) -> Tensor:
    """Return each relation's loss if `side` had one concept alone, (r, m), in bounded memory.

    A relation whose triples are beyond the margin with every concept would have the cost zero for all of them. Small
    multiples of distances break such ties.
    """
    m, device = len(model.concepts), sample.heads.device
    costs = torch.zeros(model.sizes.relations, m, dtype=torch.float64, device=device)  # sums of many small values
    copies = sample.corruption.replacements.shape[1] + 1
    for part in sample.chunks(copies * max(m, getattr(model.config, "dim", 1))):
        own, b = (part.heads, part.relations, part.tails), len(part.heads)
        negatives = list_negatives(*own, torch.arange(b, device=device), *part.corruption)
        heads, relations, tails = (torch.cat(columns) for columns in zip(own, negatives, strict=True))
        scores = model.single_concept_scores(heads, relations, tails, side)  # (b + b * n, m)
        negative = scores[b:].view(b, -1, m).transpose(1, 2).reshape(b * m, -1)  # (b * m, n)
        losses = loss(scores[:b].reshape(b * m), negative).view(b, m) - NEARNESS * scores[:b]
        costs.index_add_(0, part.relations, losses.double())
    return costs


@torch.no_grad()
def relation_losses(model: Model, sample: Sample, loss: ContrastLoss) -> Tensor:
    """Return each relation's loss on the sample with its present supports, (r,)."""
    totals = torch.zeros(model.sizes.relations, dtype=torch.float64, device=sample.heads.device)
    copies = sample.corruption.replacements.shape[1] + 1
    for part in sample.chunks(copies * getattr(model.config, "dim", 1)):
        positive, negative = model.score_contrast(part.heads, part.relations, part.tails, *part.corruption)
        totals.index_add_(0, part.relations, loss(positive, negative).double())
    return totals


@torch.no_grad()
def reassign(
    model: ProjectingConcepts, sample: Sample, loss: ContrastLoss, config: AssignmentConfig
) -> AssignmentReport:
    """Choose the supports of every relation again and write them into the model."""
    seen = torch.zeros(model.sizes.relations, dtype=torch.bool, device=sample.heads.device)
    seen[sample.relations] = True
    before: dict[Side, Tensor] = {side: model.supports(side).clone() for side in SIDES}
    loss_before = relation_losses(model, sample, loss) if config.accept == "if_better" else None
    found = _choose(model, sample, loss, config, before["head"].shape[1])
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
    model: ProjectingConcepts, sample: Sample, loss: ContrastLoss, config: AssignmentConfig, size: int
) -> dict[Side, Tensor]:
    """Return the supports with the lowest costs, (r, k) for each side."""
    rules = {side: model.rules(side) for side in SIDES}
    if config.search == "pairs":
        return choose_pairs(pair_costs(model, sample, loss), size, rules, config.tolerance)
    return {
        side: choose_lowest(obey(single_concept_costs(model, sample, side, loss), rules[side]), size) for side in SIDES
    }


def _write(model: ProjectingConcepts, chosen: dict[Side, Tensor]) -> None:
    for side, support in chosen.items():
        model.supports(side).copy_(support)


def choose_lowest(costs: Tensor, size: int) -> Tensor:
    """Return the `size` cheapest concepts of each relation, ascending by number, (r, k)."""
    return costs.topk(size, dim=1, largest=False).indices.sort(dim=1).values


def obey(costs: Tensor, rules: Tensor) -> Tensor:
    """Return costs under which pinned concepts are chosen first and forbidden ones never."""
    return costs.masked_fill(rules == PINNED, -torch.inf).masked_fill(rules == FORBIDDEN, torch.inf)


def choose_pairs(costs: Tensor, size: int, rules: Mapping[Side, Tensor], tolerance: float = 0.0) -> dict[Side, Tensor]:
    """Return the supports of both sides, (r, k) each: the best pair, then the best concepts beside each part of it.

    Args:
        costs: Costs of pairs, (r, m, m).
        size: Support size k.
        rules: Pinned and forbidden concepts of each side, (r, m).
        tolerance: Slack for a pair of an earlier relation, as `AssignmentConfig.tolerance` says.
    """
    allowed = {side: _offer(rules[side]) for side in SIDES}
    offered = costs.masked_fill(~(allowed["head"][:, :, None] & allowed["tail"][:, None, :]), torch.inf)
    pairs = _share_pairs(offered.cpu(), tolerance).to(costs.device)
    rows, head, tail = torch.arange(len(costs), device=costs.device), *pairs.unbind(1)
    first: dict[Side, Tensor] = {"head": head, "tail": tail}
    beside: dict[Side, Tensor] = {"head": costs[rows, :, tail], "tail": costs[rows, head, :]}
    chosen: dict[Side, Tensor] = {}
    for side in SIDES:
        ordered = obey(beside[side], rules[side])
        ordered[rows, first[side]] = -torch.inf
        chosen[side] = choose_lowest(ordered, size)
    return chosen


def _share_pairs(costs: Tensor, tolerance: float) -> Tensor:
    """Return the pair of each relation, (r, 2): its best, or one of an earlier relation, possibly with sides swapped.

    Otherwise inverse relations would keep different pairs that fit each of them only slightly better.
    """
    m = costs.shape[1]
    taken = torch.zeros(m, m, dtype=torch.bool, device="cpu")
    pairs = torch.empty(len(costs), 2, dtype=torch.int64, device="cpu")
    for relation, table in enumerate(costs):
        best, middle = table.min(), table[table.isfinite()].median()
        fitting = taken & (table <= best + tolerance * (middle - best))
        place = int((table.masked_fill(~fitting, torch.inf) if fitting.any() else table).argmin())
        head, tail = divmod(place, m)
        if table[table.isfinite()].any():  # a relation without triples has no costs and takes no pair
            taken[head, tail] = taken[tail, head] = True
        pairs[relation] = torch.tensor([head, tail], device="cpu")
    return pairs


def _offer(rules: Tensor) -> Tensor:
    """Return which concepts may be part of the best pair: the pinned ones if there are any, never forbidden ones."""
    pinned = rules == PINNED
    return torch.where(pinned.any(1, keepdim=True), pinned, rules != FORBIDDEN)


@torch.no_grad()
def pair_costs(
    model: ProjectingConcepts,
    sample: Sample,
    loss: ContrastLoss,
    *,
    leave_one_out: bool = False,
    relations: int | None = None,
) -> Tensor:
    """Return each relation's loss if each side had one concept, for all pairs of concepts, (r, m, m).

    The translation of a pair is the mean of P_tail(t) - P_head(h) over the relation's triples: subtracting the mean
    from each side's projections leaves no translation.

    Args:
        model: Model with the concepts.
        sample: Triples and negatives.
        loss: Loss of triples and negatives.
        leave_one_out: Whether each triple has the mean over the relation's other triples, which is right for few.
        relations: Number r of relations in the sample; that of the model by default.
    """
    counts = torch.bincount(sample.relations, minlength=relations or model.sizes.relations)
    totals = {side: _sum_projections(model, sample, side, len(counts)) for side in SIDES}
    m = len(model.concepts)
    costs = totals["head"].new_zeros(len(counts), m, m, dtype=torch.float64)  # sums of many small values
    for part in sample.chunks(_count_width(model, sample, m)):
        own: dict[Side, Tensor] = {  # (b, m, d)
            "head": model.project_alone(part.heads),
            "tail": model.project_alone(part.tails),
        }
        means: dict[Side, Tensor] = {}
        for side, projected in own.items():
            others, total = counts[part.relations, None, None], totals[side][part.relations]
            if leave_one_out:  # a single triple has only itself
                others, total = (others - 1).clamp_min(1), torch.where(others > 1, total - projected, projected)
            means[side] = total / others
        positive, negative = _pair_distances(model, part, own, means)  # (b, m, m), (b, n, m, m)
        n = negative.shape[1]
        if part.left_out is not None:
            negative = negative.masked_fill(part.left_out[:, :, None, None], -MASKED)
        losses = loss(-positive.flatten(), -negative.movedim(1, 3).reshape(-1, n)).view_as(positive)
        costs.index_add_(0, part.relations, (losses + NEARNESS * positive).double())
    return costs


def _sum_projections(model: ProjectingConcepts, sample: Sample, side: Side, relations: int) -> Tensor:
    """Return the summed projections of a relation's entities on `side` by each concept, (r, m, d)."""
    totals = model.concepts.new_zeros(relations, len(model.concepts), model.config.dim)
    for part in sample.chunks(_count_width(model, sample, 1)):
        totals.index_add_(0, part.relations, model.project_alone(part.heads if side == "head" else part.tails))
    return totals


def _pair_distances(
    model: ProjectingConcepts, part: Sample, own: Mapping[Side, Tensor], means: Mapping[Side, Tensor]
) -> tuple[Tensor, Tensor]:
    """Return the distances of triples, (b, m, m), and of their negatives, (b, n, m, m): head by tail concept."""
    heads, tails = own["head"] - means["head"], own["tail"] - means["tail"]
    replaces_head, replacements = part.corruption
    others = model.project_alone(replacements.flatten()).view(*replacements.shape, *heads.shape[1:])  # (b, n, m, d)
    others = others - torch.where(replaces_head[:, None, None], means["head"], means["tail"])[:, None]
    p = 1.0 if model.config.p_norm == 1 else 2.0
    kept = torch.where(replaces_head[:, None, None], tails, heads)[:, None]  # the side that stays
    negative = torch.cdist(others, kept.expand_as(others).contiguous(), p=p)  # (b, n, m, m)
    negative = torch.where(replaces_head[:, None, None, None], negative, negative.transpose(2, 3))
    return torch.cdist(heads, tails, p=p), negative


def _count_width(model: ProjectingConcepts, sample: Sample, pairs: int) -> int:
    """Return the floats of a triple and its negatives, projected by each concept and compared by pairs of them."""
    copies = sample.corruption.replacements.shape[1] + 2
    return copies * int(model.config.concepts * max(model.config.dim, pairs))


@torch.no_grad()
def fit_translations(model: ProjectingConcepts, sample: Sample, relations: Tensor) -> Tensor:
    """Set the embeddings of the marked relations, (r,), to the mean of their exact translations.

    Returns:
        All relation embeddings as they were.
    """
    vectors = model.get_parameter("relations")
    triples, counts = relations[sample.relations].nonzero().squeeze(1), torch.bincount(sample.relations)
    totals, before = torch.zeros_like(vectors), vectors.clone()
    for rows in torch.split(triples, max(1, count_numbers(triples.device) // vectors.shape[1])):
        kinds = sample.relations[rows]
        totals.index_add_(0, kinds, model.exact_translations(sample.heads[rows], kinds, sample.tails[rows]))
    vectors[relations] = totals[relations] / counts[relations.nonzero()]
    return before


SHARE = 0.5
"""Fraction of triples that two relations must share to be mirrored."""


@torch.no_grad()
def mirror_supports(model: ConceptModel, structure: Structure, seed: int) -> None:
    """Choose the supports of a new model with sparse attention.

    Args:
        model: Model with initial concepts.
        structure: Symmetric, inverse and duplicate relations.
        seed: Random seed.
    """
    if not model.has_supports:
        return
    head, tail = model.supports("head"), model.supports("tail")
    reflects = model.concepts.diagonal(dim1=1, dim2=2).amin(1).cpu() < 0
    plain, reflecting = (~reflects).nonzero().view(-1), reflects.nonzero().view(-1)
    generator = torch.Generator("cpu").manual_seed(seed)
    if min(len(plain), len(reflecting)) >= head.shape[1]:
        head.copy_(_draw(plain, head, generator))
        tail.copy_(_draw(plain, tail, generator))
        symmetric = [relation for relation, _ in structure.symmetric]
        head[symmetric] = _draw(reflecting, head, generator).to(head.device)[symmetric]
    _tie(head, tail, structure)


def _draw(offered: Tensor, support: Tensor, generator: torch.Generator) -> Tensor:
    """Return a random support for each relation among the offered concepts."""
    return offered[random_supports(len(support), len(offered), support.shape[1], generator)]


def _tie(head: Tensor, tail: Tensor, structure: Structure) -> None:
    """Give relations the supports of those they mirror or repeat, the strongest pairs first."""
    pairs = [(pair, True) for pair in structure.inverse] + [(pair, False) for pair in structure.duplicate]
    tied: set[int] = set()
    for (first, second, _), turned in sorted(pairs, key=lambda found: -found[0][2]):
        giver, taker = (second, first) if second in tied else (first, second)
        if taker in tied:
            continue
        tied |= {giver, taker}
        sides = (tail, head) if turned else (head, tail)
        head[taker], tail[taker] = (side[giver].clone() for side in sides)
