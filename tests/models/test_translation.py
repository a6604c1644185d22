from __future__ import annotations

from typing import Any

import pytest
import torch

from itransf.models import ITransF, Sizes, STransE, TransE, TransR
from itransf.models.concepts import random_supports
from itransf.models.projection import FullProjection
from itransf.models.translation import start_vectors
from itransf.registry import REGULARIZERS

SIZES = Sizes(entities=6, relations=3)


def settings(**more: Any) -> Any:
    return TransE.Config(**{"dim": 4, "p_norm": 1, "entity_constraint": "unit", "projected_constraint": "none", **more})


def test_transe_by_hand() -> None:
    model = TransE(Sizes(2, 1), settings(dim=2))
    with torch.no_grad():
        model.entities.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0]]))
        model.relations.copy_(torch.tensor([[0.5, 0.5]]))
    head, relation, tail = torch.tensor([0]), torch.tensor([0]), torch.tensor([1])
    assert model.score(head, relation, tail).tolist() == [-3.0]  # |1.5 - 0| + |0.5 - 2|
    assert model.score_tails(head, relation).tolist() == [[-1.0, -3.0]]
    assert model.score_heads(relation, tail).tolist() == [[-3.0, -1.0]]


def test_vectors_start_uniform_and_at_unit_length_where_entities_are_constrained() -> None:
    torch.manual_seed(0)
    free = start_vectors(2000, 9, "none")
    assert float(free.abs().max()) == pytest.approx(2.0, rel=0.01)  # 6 / sqrt(9)
    assert float(free.std()) == pytest.approx(2.0 / 3**0.5, rel=0.02)
    for length in ("unit", "ball"):
        lengths = torch.linalg.vector_norm(start_vectors(50, 9, length), dim=1)
        torch.testing.assert_close(lengths, torch.ones(50))


def test_full_matrices_start_as_identity_with_little_noise() -> None:
    torch.manual_seed(0)
    matrices = FullProjection(200, 8).matrices(torch.arange(200)).detach()
    assert float((matrices - torch.eye(8)).std()) == pytest.approx(0.005, rel=0.05)


def test_transr_projects_both_sides_alike_and_stranse_does_not() -> None:
    transr, stranse = TransR(SIZES, settings()), STransE(SIZES, settings())
    assert transr.project_head is transr.project_tail
    assert stranse.project_head is not stranse.project_tail
    assert sum(parameter.numel() for parameter in transr.parameters()) == 6 * 4 + 3 * 4 + 3 * 16
    assert sum(parameter.numel() for parameter in stranse.parameters()) == 6 * 4 + 3 * 4 + 2 * 3 * 16


def test_ball_and_free_entities_are_held_to_no_more_than_that() -> None:
    ball, free = TransE(SIZES, settings(entity_constraint="ball")), TransE(SIZES, settings(entity_constraint="none"))
    for model in (ball, free):
        with torch.no_grad():
            model.entities.copy_(torch.ones(6, 4) * torch.tensor([0.1, 0.2, 0.5, 1.0, 2.0, 3.0])[:, None])
    free.constrain(None, None)
    ball.constrain(torch.arange(6), None)
    assert free.entities[:, 0].tolist() == pytest.approx([0.1, 0.2, 0.5, 1.0, 2.0, 3.0])
    assert ball.entities[:, 0].tolist() == pytest.approx([0.1, 0.2, 0.5, 0.5, 0.5, 0.5])


def test_random_supports_are_distinct_ascending_and_even() -> None:
    torch.manual_seed(0)
    supports = random_supports(3000, 6, 2)
    assert bool((supports[:, 0] < supports[:, 1]).all())
    shares = torch.bincount(supports.flatten()) / 6000
    assert shares.tolist() == pytest.approx([1 / 6] * 6, abs=0.02)


def test_free_weights_learn_as_matrices_do() -> None:
    model = ITransF(SIZES, ITransF.Config(dim=4, concepts=3, support_size=1, matrix_lr_factor=0.25, attention="l1"))
    slow = [name for name, _ in model.named_parameters() if model.learning_rate_factor(name) == 0.25]
    assert slow == ["concepts", "project_head.scores", "project_tail.scores"]


def test_matrices_may_learn_at_a_rate_of_their_own() -> None:
    itransf = ITransF(SIZES, ITransF.Config(dim=4, concepts=3, support_size=1, matrix_lr_factor=0.25))
    stranse = STransE(SIZES, settings(matrix_lr_factor=0.25))
    slow = [
        name
        for model in (itransf, stranse)
        for name, _ in model.named_parameters()
        if model.learning_rate_factor(name) == 0.25
    ]
    assert slow == ["concepts", "project_head.weight", "project_tail.weight"]
    for model in (itransf, stranse):
        assert {model.learning_rate_factor(name) for name, _ in model.named_parameters()} == {0.25, 1.0}


@pytest.mark.parametrize("projected", ["none", "unit"])
def test_n3_is_the_mean_over_triples_of_the_cubes_of_their_vectors(projected: str) -> None:
    torch.manual_seed(0)
    model = STransE(SIZES, settings(projected_constraint=projected))
    heads, relations, tails = torch.tensor([0, 5]), torch.tensor([2, 1]), torch.tensor([5, 3])
    total = 0.0
    for triple in zip(heads, relations, tails, strict=True):
        h, r, t = (part[None] for part in triple)
        vectors = [model.entities[h], model.relations[r], model.entities[t]]
        vectors += [model.project(h, r, "head"), model.project(t, r, "tail")]
        total += sum(float(vector.detach().abs().pow(3).sum()) for vector in vectors)
    penalty = REGULARIZERS["n3"](model.factors(heads, relations, tails))
    assert float(penalty.detach()) == pytest.approx(total / 2)
    penalty.backward()
    assert model.entities.grad is not None
    assert model.penalty(heads, relations, tails) is None


@pytest.mark.parametrize("kind", [TransE, TransR, STransE])
def test_constraints_bring_touched_entities_to_unit_length(kind: type[TransE]) -> None:
    model = kind(SIZES, settings(entity_constraint="unit"))
    with torch.no_grad():
        model.entities.normal_(0.0, 0.6)
    before, touched = model.entities.detach().clone(), torch.tensor([3, 1, 3])
    model.constrain(touched, None)
    assert torch.linalg.vector_norm(model.entities[touched], dim=1).tolist() == pytest.approx([1.0, 1.0, 1.0])
    scaled = model.entities[touched] * torch.linalg.vector_norm(before[touched], dim=1, keepdim=True)
    torch.testing.assert_close(scaled.detach(), before[touched])
    model.constrain(None, None)
    lengths = torch.linalg.vector_norm(model.entities, dim=1)
    torch.testing.assert_close(lengths, torch.ones_like(lengths))
