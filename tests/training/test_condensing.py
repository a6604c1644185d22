"""Concepts from free matrices, against slow references and against truths that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from itransf.data.planted import plant
from itransf.models import SIDES, ITransF, Sizes, STransE
from itransf.models.itransf import ITransFConfig
from itransf.models.translation import TranslationConfig
from itransf.training.condensing import FAINTEST, WORTH_ADDING, condense, find_corners, fit_corners, mix, view_sides
from itransf.training.trainer import weights

FREE: dict[str, Any] = {"norm": 2, "entities": "none", "projected": "none"}
SEED = 3


def draw_turns(generator: torch.Generator, count: int, dim: int) -> Tensor:
    return torch.linalg.qr(torch.randn(count, dim, dim, generator=generator))[0]


def spread_evenly(vectors: Tensor) -> Tensor:
    """Return vectors of which the covariance is the identity."""
    centred = (vectors - vectors.mean(0)).double()
    return (centred @ torch.linalg.inv(torch.linalg.cholesky(torch.cov(centred.T)).T)).float()


def make_free(matrices: Tensor, entities: Tensor, relations: Tensor) -> STransE:
    """Return STransE with these matrices (2, r, d, d) and vectors."""
    free = STransE(Sizes(len(entities), len(relations)), TranslationConfig(dim=entities.shape[1], **FREE))
    with torch.no_grad():
        free.entities.copy_(entities)
        free.relations.copy_(relations)
        for projection, side in zip((free.project_head, free.project_tail), matrices, strict=True):
            projection.weight.copy_(side.flatten(1))  # type: ignore[attr-defined]
    return free


def make_model(free: STransE, **settings: Any) -> ITransF:
    torch.manual_seed(0)
    return ITransF(free.sizes, ITransFConfig(dim=free.config.dim, **FREE, **settings))


@pytest.fixture
def planted_free() -> tuple[STransE, Tensor]:
    """A truth with supports of one or two, its relations turned at random, and its mixtures (2, r, m)."""
    truth = plant(SEED, entities=60, relations=24, concepts=4).geometry
    generator = torch.Generator().manual_seed(0)
    sides = torch.tensor(np.array([[truth.matrix(relation, side) for relation in range(24)] for side in (0, 1)]))
    turns = draw_turns(generator, 24, 6)
    relations = torch.tensor(truth.translations).float()
    shares = np.zeros((2, 24, 4))
    for side, relation, place in zip(*np.nonzero(truth.supports >= 0), strict=True):
        shares[side, relation, truth.supports[side, relation, place]] = truth.weights[side, relation, place]
    entities = spread_evenly(torch.tensor(truth.vectors))
    free = make_free(turns @ sides.float(), entities, torch.einsum("rij,rj->ri", turns, relations))
    return free, torch.tensor(shares)


def mix_slowly(point: Tensor, corners: Tensor, size: int) -> tuple[Tensor, float]:
    """Try all corners for every step, and a fine row of steps towards each."""
    best = min(range(len(corners)), key=lambda corner: float(((point - corners[corner]) ** 2).sum()))
    mixture = torch.zeros(len(corners), dtype=corners.dtype)
    mixture[best] = 1
    left = float(((point - corners[best]) ** 2).sum())
    for _ in range(size - 1):
        options = []
        for corner in torch.eye(len(corners), dtype=corners.dtype):
            steps = torch.linspace(0, 1, 2001, dtype=corners.dtype)[:, None]
            others = (1 - steps) * mixture + steps * corner
            lefts = ((point - others @ corners) ** 2).sum(1)
            options.append((float(lefts.min()), others[lefts.argmin()]))
        found, other = min(options, key=lambda option: option[0])
        if found < WORTH_ADDING * left:
            left, mixture = found, other
    return mixture, left


class TestMixtures:
    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_equal_a_slow_search(self, size: int) -> None:
        generator = torch.Generator().manual_seed(size)
        points, corners = (torch.randn(n, 3, generator=generator, dtype=torch.float64) for n in (5, 4))
        mixtures, misfits = mix(points, corners, size)
        for row, point in enumerate(points):
            expected, left = mix_slowly(point, corners, size)
            assert torch.allclose(mixtures[row], expected, atol=1e-3)
            assert misfits[row] == pytest.approx(left, abs=1e-5)
        assert ((mixtures > 0).sum(1) <= size).all()
        assert torch.allclose(mixtures.sum(1), torch.ones(5, dtype=torch.float64))

    def test_a_further_corner_has_to_be_worth_it(self) -> None:
        corners = torch.eye(3, dtype=torch.float64)
        point = torch.tensor([[0.9, 0.1, 0.5]], dtype=torch.float64)  # far from the line between the first two
        assert mix(point, corners[:2], 2)[0].tolist() == [[1, 0]]
        assert mix(torch.tensor([[0.7, 0.3, 0.0]], dtype=torch.float64), corners, 2)[0].tolist()[0] == pytest.approx(
            [0.7, 0.3, 0]
        )


class TestCorners:
    def test_fitting_moves_corners_to_the_weighted_mean_of_what_is_theirs(self) -> None:
        points = torch.tensor([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], dtype=torch.float64)
        heavy = torch.tensor([3.0, 1.0, 1.0], dtype=torch.float64)
        fitted = fit_corners(points, heavy, points[[0, 2]], 1)
        assert torch.allclose(fitted.corners[0], torch.tensor([0.25, 0.0], dtype=torch.float64), atol=1e-4)
        assert torch.allclose(fitted.corners[1], points[2], atol=1e-4)
        assert fitted.misfit == pytest.approx(3 * 0.25**2 + 0.75**2, abs=1e-4)

    @pytest.mark.parametrize("size", [1, 2])
    @pytest.mark.parametrize("noise", [0.0, 0.02])
    def test_no_more_are_found_than_there_are(self, size: int, noise: float) -> None:
        generator = torch.Generator().manual_seed(0)
        corners = torch.eye(5, 8, dtype=torch.float64)
        shares = torch.zeros(60, 5, dtype=torch.float64)
        for row in shares:
            chosen = torch.randperm(5, generator=generator)[:size]
            row[chosen] = torch.tensor([0.6, 0.4], dtype=torch.float64)[:size] / (1.0 if size == 2 else 0.6)
        shares[:5] = torch.eye(5)
        points = shares @ corners + noise * torch.randn(60, 8, generator=generator, dtype=torch.float64)
        found, mixtures = find_corners(points, torch.ones(60, dtype=torch.float64), 8, size)
        assert len(found) == 5
        order = torch.cdist(corners, found).argmin(dim=1)
        assert order.unique().numel() == 5  # type: ignore[no-untyped-call]
        assert torch.equal(mixtures[:, order] > 0.05, shares > 0)
        assert torch.allclose(mixtures[:, order], shares, atol=0.1)

    def test_there_are_never_more_corners_than_allowed_or_than_points(self) -> None:
        points = torch.eye(3, dtype=torch.float64)
        weight = torch.ones(3, dtype=torch.float64)
        assert len(find_corners(points, weight, 9, 1)[0]) == 3
        assert len(find_corners(points, weight, 2, 1)[0]) == 2
        assert len(find_corners(points[[1, 1, 1]], weight, 2, 2)[0]) == 1


class TestViews:
    def test_turning_a_relation_or_the_entities_changes_nothing(self) -> None:
        generator = torch.Generator().manual_seed(0)
        sides = torch.randn(2, 3, 4, 4, generator=generator)
        entities, relations = (torch.randn(n, 4, generator=generator) for n in (30, 3))
        turns, twist = draw_turns(generator, 3, 4), torch.randn(4, 4, generator=generator)
        before = view_sides(make_free(sides, entities, relations))
        after = view_sides(make_free(turns @ sides, entities, relations))
        assert torch.allclose(before.roots, after.roots, atol=1e-5)
        assert torch.allclose(before.sizes, after.sizes, atol=1e-4)
        assert torch.allclose(turns.double() @ before.turns, after.turns, atol=1e-4)
        # Entities in other coordinates, matrices undoing that: what is looked at is the same but for a turn.
        twisted = view_sides(make_free(sides @ torch.linalg.inv(twist), entities @ twist.T, relations))
        for left, right in ((before, twisted), (before, after)):
            distances = [torch.cdist(*[view.roots.flatten(2).flatten(0, 1)] * 2) for view in (left, right)]
            assert torch.allclose(*distances, atol=1e-4)

    def test_the_root_of_a_mixture_is_the_mixture(self, planted_free: tuple[STransE, Tensor]) -> None:
        free, shares = planted_free
        roots = view_sides(free).roots.flatten(2).flatten(0, 1)  # (48, 36)
        flat = shares.flatten(0, 1)
        corners = torch.linalg.lstsq(flat, roots).solution
        assert torch.allclose(flat @ corners, roots, atol=1e-5)
        assert torch.allclose(corners.view(-1, 6, 6).diagonal(dim1=1, dim2=2).sum(1), torch.ones(4).double(), atol=1e-5)


class TestCondensing:
    def test_the_truth_is_found_and_scores_stay(self, planted_free: tuple[STransE, Tensor]) -> None:
        free, shares = planted_free
        model = make_model(free, concepts=6, support_size=2)
        spare = model.concepts[4:].clone()
        facts = torch.randint(24, (500,), generator=torch.Generator().manual_seed(0))
        assert condense(free, model, facts) == 4
        learned = torch.stack([model.concept_projection(side).attention() for side in SIDES])
        order = (shares.flatten(0, 1).T.float() @ learned.flatten(0, 1)).argmax(dim=1)
        assert torch.equal(learned[..., order] > 0.05, shares > 0)
        assert torch.allclose(learned[..., order], shares.float(), atol=2 * FAINTEST)
        assert torch.equal(model.concepts[4:], spare)
        generator = torch.Generator().manual_seed(1)
        heads, tails = torch.randint(60, (2, 200), generator=generator)
        asked = torch.randint(24, (200,), generator=generator)
        with torch.no_grad():
            expected, found = free.score(heads, asked, tails), model.score(heads, asked, tails)
        assert torch.allclose(expected, found, atol=0.1)
        assert float(torch.corrcoef(torch.stack([expected, found]))[0, 1]) > 0.999

    def test_supports_are_full_and_sorted(self, planted_free: tuple[STransE, Tensor]) -> None:
        free, _ = planted_free
        model = make_model(free, concepts=6, support_size=3)
        condense(free, model, torch.arange(24))
        for side in SIDES:
            support = model.supports(side)
            assert support is not None
            assert (support.diff(dim=1) > 0).all()
            assert torch.allclose(model.concept_projection(side).attention().sum(1), torch.ones(24))

    def test_attention_that_is_not_sparse_is_left_alone(self, planted_free: tuple[STransE, Tensor]) -> None:
        free, _ = planted_free
        model = make_model(free, concepts=6, attention="dense")
        before = {name: tensor.clone() for name, tensor in weights(model).items()}
        assert condense(free, model, torch.arange(24)) == 0
        assert all(torch.equal(tensor, before[name]) for name, tensor in weights(model).items())

    def test_a_relation_without_facts_and_unspread_entities_do_no_harm(self) -> None:
        free = STransE(Sizes(5, 3), TranslationConfig(dim=2, **FREE))
        with torch.no_grad():
            free.entities[:, 1] = 0.0
        model = make_model(free, concepts=2, support_size=1)
        assert condense(free, model, torch.tensor([0, 0, 1])) >= 1
        assert all(torch.isfinite(tensor).all() for tensor in weights(model).values())
