"""A joint search: every pair of a head and a tail concept, each with the translation that suits it."""

from __future__ import annotations

import torch
from torch import Tensor

from itransf.models.base import SIDES, Model, Side
from itransf.training.losses import ContrastLoss
from itransf.training.sample import NEARNESS, Sample, count_numbers


@torch.no_grad()
def pair_costs(model: Model, sample: Sample, loss: ContrastLoss) -> Tensor:
    """Return each relation's loss if its sides had one concept each, for all pairs of them, (r, m, m).

    Under a pair the triples of a relation are translated by the mean of what is to be bridged: with each side's
    projections taken from their mean, no translation is left.
    """
    means = {side: _mean_projections(model, sample, side) for side in SIDES}
    m = means["head"].shape[1]
    costs = means["head"].new_zeros(model.sizes.relations, m, m, dtype=torch.float64)  # sums of many small numbers
    for part in sample.chunks(_chunk_size(model, sample, m)):
        positive, negative = _pair_distances(model, part, means)  # (b, m, m), (b, n, m, m)
        n = negative.shape[1]
        losses = loss(-positive.flatten(), -negative.movedim(1, 3).reshape(-1, n)).view_as(positive)
        costs.index_add_(0, part.relations, (losses + NEARNESS * positive).double())
    return costs


def _mean_projections(model: Model, sample: Sample, side: Side) -> Tensor:
    """Return the mean over a relation's triples of what each concept makes of their entities on `side`, (r, m, d)."""
    totals: Tensor | None = None
    counts = torch.bincount(sample.relations, minlength=model.sizes.relations)
    entities = sample.heads if side == "head" else sample.tails
    size = _chunk_size(model, sample, 1)
    for rows, relations in zip(torch.split(entities, size), torch.split(sample.relations, size), strict=True):
        projected = model.project_alone(rows)  # (b, m, d)
        if totals is None:
            totals = projected.new_zeros(model.sizes.relations, *projected.shape[1:])
        totals.index_add_(0, relations, projected)
    assert totals is not None, "a graph without training triples is refused when it is read"
    return totals / counts.clamp_min(1)[:, None, None]


def _pair_distances(model: Model, part: Sample, means: dict[Side, Tensor]) -> tuple[Tensor, Tensor]:
    """Return the distances of triples, (b, m, m), and of their corrupted copies, (b, n, m, m): head by tail concept."""
    of_head, of_tail = (means[side][part.relations] for side in SIDES)  # (b, m, d)
    heads, tails = model.project_alone(part.heads) - of_head, model.project_alone(part.tails) - of_tail
    replaces_head, replacements = part.corruption
    others = model.project_alone(replacements.flatten()).view(*replacements.shape, *heads.shape[1:])  # (b, n, m, d)
    others = others - torch.where(replaces_head[:, None, None], of_head, of_tail)[:, None]
    p = 1.0 if model.config.p_norm == 1 else 2.0
    mine = torch.where(replaces_head[:, None, None], tails, heads)[:, None]  # what copies are compared with
    negative = torch.cdist(others, mine.expand_as(others).contiguous(), p=p)  # (b, n, m, m): copy by own concept
    negative = torch.where(replaces_head[:, None, None, None], negative, negative.transpose(2, 3))
    return torch.cdist(heads, tails, p=p), negative


def _chunk_size(model: Model, sample: Sample, pairs: int) -> int:
    """Return how many triples are compared at once."""
    width = model.config.concepts * max(model.config.dim, pairs)
    copies = sample.corruption.replacements.shape[1] + 2
    return max(1, count_numbers(sample.heads.device) // (copies * int(width)))


@torch.no_grad()
def fit_translations(model: Model, sample: Sample, relations: Tensor) -> Tensor:
    """Set the vectors of the relations marked, (r,), to the mean of what their triples have to bridge.

    Returns:
        All relation vectors as they were.
    """
    vectors = model.get_parameter("relations")
    triples, counts = relations[sample.relations].nonzero().squeeze(1), torch.bincount(sample.relations)
    totals, before = torch.zeros_like(vectors), vectors.clone()
    for rows in torch.split(triples, max(1, count_numbers(triples.device) // vectors.shape[1])):
        kinds = sample.relations[rows]
        totals.index_add_(0, kinds, model.to_bridge(sample.heads[rows], kinds, sample.tails[rows]))
    vectors[relations] = totals[relations] / counts[relations.nonzero()]
    return before
