from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from contracts.cases import CASES, SIZES, make_model, random_triples
from itransf.models import SIDES, Model

STEP = 1e-6


def triple_scores(model: Model) -> Tensor:
    return model.score(*random_triples(30))


def contrast_scores(model: Model) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    replaces_head = torch.rand(30, generator=generator) < 0.5
    replacements = torch.randint(SIZES.entities, (30, 2), generator=generator)
    positive, negative = model.score_contrast(*random_triples(30), replaces_head, replacements)
    return torch.cat([positive, negative.flatten()])


def shared_scores(model: Model) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    heads, relations, tails = random_triples(30)
    order = relations.argsort(stable=True)
    distinct, owners = relations[order].unique_consecutive(return_inverse=True)
    replaces_head = torch.arange(len(distinct)) % 2 == 0
    replacements = torch.randint(SIZES.entities, (len(distinct), 4), generator=generator)
    triples = heads[order], relations[order], tails[order]
    positive, negative = model.score_shared(*triples, owners, replaces_head, replacements)
    return torch.cat([positive, negative.flatten()])


def all_entity_scores(model: Model) -> Tensor:
    anchors = torch.tensor([3, 1, 6])
    return torch.cat(
        [model.scorer(relation, side)(anchors).flatten() for relation in range(SIZES.relations) for side in SIDES]
    )


def pooled_scores(model: Model) -> Tensor:
    pool, (heads, relations, tails) = model.pool(torch.tensor([5, 2, 5, 0])), random_triples(30)
    as_tails = model.score_pool(heads, relations, "tail", pool)
    as_heads = model.score_pool(tails, relations, "head", pool)
    return torch.cat([as_tails.flatten(), as_heads.flatten()])


def weigh(scores: Tensor) -> Tensor:
    """Return one number in which every score counts differently."""
    return (scores * torch.linspace(0.5, 1.5, len(scores), dtype=scores.dtype)).sum()


@pytest.mark.parametrize("scores", [triple_scores, contrast_scores, shared_scores, all_entity_scores, pooled_scores])
@pytest.mark.parametrize(("name", "case"), CASES)
def test_gradients_reach_every_parameter_and_equal_finite_differences(
    name: str, case: dict[str, Any], scores: Callable[[Model], Tensor]
) -> None:
    model = make_model(name, case)
    weigh(scores(model)).backward()
    gradients = {key: parameter.grad for key, parameter in model.named_parameters()}
    generator = torch.Generator().manual_seed(7)
    for key, parameter in model.named_parameters():
        gradient = gradients[key]
        assert gradient is not None, key
        dense = gradient.to_dense()
        assert torch.isfinite(dense).all(), key
        assert dense.abs().sum() > 0, key
        direction = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            parameter.add_(direction, alpha=STEP)
            ahead = weigh(scores(model))
            parameter.add_(direction, alpha=-2 * STEP)
            behind = weigh(scores(model))
            parameter.add_(direction, alpha=STEP)
        slope = float(ahead - behind) / (2 * STEP)
        assert float((dense * direction).sum()) == pytest.approx(slope, rel=1e-4, abs=1e-4), key


@pytest.mark.parametrize(("name", "case"), CASES)
def test_gradients_stay_finite_where_distances_and_lengths_vanish(name: str, case: dict[str, Any]) -> None:
    model = make_model(name, case)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    for scores in (triple_scores, contrast_scores, shared_scores, all_entity_scores, pooled_scores):
        weigh(scores(model)).backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad.to_dense()).all(), key
