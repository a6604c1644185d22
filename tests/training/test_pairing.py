from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor

from itransf.config import AssignmentConfig, LossConfig
from itransf.data.graph import Graph
from itransf.models import SIDES, ITransF
from itransf.models.concepts import FORBIDDEN, PINNED
from itransf.training import assignment as sampling
from itransf.training.assignment import (
    NEARNESS,
    Sample,
    choose_pairs,
    fit_translations,
    pair_costs,
    reassign,
    relation_losses,
)
from itransf.training.losses import make_contrast_loss
from training.test_assignment import make_model, make_sample, supports_of

if TYPE_CHECKING:
    from conftest import GraphMaker

HINGE = make_contrast_loss(LossConfig(name="hinge", margin=1.0))
PAIRS = AssignmentConfig(search="pairs", accept="always")


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=9, relations=3, train=30, valid=0, test=4)


def bridge(model: ITransF, sample: Sample, relation: int) -> Tensor:
    """What a relation's triples have to bridge on average."""
    mine = sample.relations == relation
    kinds = sample.relations[mine]
    heads, tails = (
        model.project(part[mine], kinds, side) for part, side in zip((sample.heads, sample.tails), SIDES, strict=True)
    )
    return (tails - heads).mean(0)


def brute_force_costs(model: ITransF, sample: Sample) -> Tensor:
    costs = torch.zeros(model.sizes.relations, 6, 6, dtype=torch.float64)
    for head in range(6):
        for tail in range(6):
            model.project_head.support.fill_(head)
            model.project_tail.support.fill_(tail)
            for relation in range(model.sizes.relations):
                model.relations.data[relation] = bridge(model, sample, relation)
            distances = -model.score(sample.heads, sample.relations, sample.tails)
            costs[:, head, tail] = relation_losses(model, sample, HINGE)
            costs[:, head, tail].index_add_(0, sample.relations, NEARNESS * distances)
    return costs


@torch.no_grad()
@pytest.mark.parametrize(("norm", "projected"), [(1, "unit"), (2, "none")])
def test_pair_costs_equal_brute_force(graph: Graph, norm: int, projected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, sample = make_model(graph, p_norm=norm, projected_constraint=projected), make_sample(graph)
    found = pair_costs(model, sample, HINGE)
    monkeypatch.setattr(sampling, "CHUNK_NUMBERS", 1)
    torch.testing.assert_close(pair_costs(model, sample, HINGE), found)
    torch.testing.assert_close(found, brute_force_costs(model, sample))


@torch.no_grad()
@pytest.mark.parametrize("norm", [1, 2])
def test_costs_without_a_triples_own_part_in_the_translation(
    graph: Graph, norm: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, sample = make_model(graph, p_norm=norm), make_sample(graph)
    masked = torch.rand(sample.corruption.replacements.shape, generator=torch.Generator().manual_seed(0)) < 0.3
    sample = replace(sample, left_out=masked)
    found = pair_costs(model, sample, HINGE, leave_one_out=True)
    monkeypatch.setattr(sampling, "CHUNK_NUMBERS", 1)
    torch.testing.assert_close(pair_costs(model, sample, HINGE, leave_one_out=True), found)
    projected = {side: model.project_alone(part) for side, part in (("head", sample.heads), ("tail", sample.tails))}
    costs = torch.zeros_like(found)
    for row, relation in enumerate(sample.relations.tolist()):
        others = [other for other in (sample.relations == relation).nonzero().flatten().tolist() if other != row]
        for head, tail in ((0, 0), (3, 1), (5, 4)):
            shift = (projected["tail"][others, tail] - projected["head"][others, head]).mean(0)

            def distance(h: Tensor, t: Tensor, shift: Tensor = shift) -> Tensor:
                return torch.linalg.vector_norm(h + shift - t, ord=norm)

            h, t = projected["head"][row, head], projected["tail"][row, tail]
            rivals = model.project_alone(sample.corruption.replacements[row])
            if sample.corruption.replaces_head[row]:
                negative = torch.stack([distance(rival, t) for rival in rivals[:, head]])
            else:
                negative = torch.stack([distance(h, rival) for rival in rivals[:, tail]])
            own = distance(h, t)
            costs[relation, head, tail] += ((1.0 + own - negative).clamp_min(0) * ~masked[row]).mean() + NEARNESS * own
    for head, tail in ((0, 0), (3, 1), (5, 4)):
        torch.testing.assert_close(found[:, head, tail], costs[:, head, tail])


def test_the_best_pair_is_chosen_and_then_what_goes_with_it() -> None:
    costs = torch.tensor([[[9.0, 5.0, 6.0], [4.0, 1.0, 3.0], [7.0, 2.0, 8.0]]])
    free = {side: torch.zeros(1, 3, dtype=torch.int8) for side in SIDES}
    assert {side: row.tolist() for side, row in choose_pairs(costs, 1, free).items()} == {"head": [[1]], "tail": [[1]]}
    assert {side: row.tolist() for side, row in choose_pairs(costs, 2, free).items()} == {
        "head": [[1, 2]],  # 2 costs 2 beside tail 1, 0 costs 5
        "tail": [[1, 2]],  # 2 costs 3 beside head 1, 0 costs 4
    }


def test_inverse_relations_choose_each_others_pairs() -> None:
    costs = torch.rand(1, 7, 7, generator=torch.Generator().manual_seed(0))
    rules = {side: torch.zeros(2, 7, dtype=torch.int8) for side in SIDES}
    chosen = choose_pairs(torch.cat([costs, costs.transpose(1, 2)]), 3, rules)
    assert chosen["head"][0].tolist() == chosen["tail"][1].tolist()
    assert chosen["tail"][0].tolist() == chosen["head"][1].tolist()


def test_a_pair_that_is_taken_is_preferred_if_it_costs_little_more() -> None:
    costs = torch.full((3, 3, 3), 9.0)
    costs[0, 0, 1] = 1.0
    costs[1, 2, 1], costs[1, 1, 0] = 1.0, 1.2  # the second is the first relation's, turned around
    costs[2, 1, 1], costs[2, 0, 1] = 1.0, 1.3
    rules = {side: torch.zeros(3, 3, dtype=torch.int8) for side in SIDES}
    for tolerance, wanted in ((0.01, [(0, 1), (2, 1), (1, 1)]), (0.03, [(0, 1), (1, 0), (1, 1)])):  # of 9 - 1
        chosen = choose_pairs(costs, 1, rules, tolerance)
        assert list(zip(chosen["head"].flatten().tolist(), chosen["tail"].flatten().tolist(), strict=True)) == wanted


def test_a_relation_without_triples_takes_no_pair() -> None:
    costs = torch.full((2, 3, 3), 9.0)
    costs[0] = 0.0
    costs[1, 2, 1], costs[1, 0, 0] = 1.0, 1.2
    for rule in (0, FORBIDDEN):
        rules = {side: torch.zeros(2, 3, dtype=torch.int8) for side in SIDES}
        rules["head"][0, 1] = rule
        chosen = choose_pairs(costs, 1, rules, tolerance=0.5)
        assert (chosen["head"][1].item(), chosen["tail"][1].item()) == (2, 1)


def test_rules_hold_for_pairs() -> None:
    costs = torch.rand(40, 5, 5, generator=torch.Generator().manual_seed(0))
    rules = {side: torch.zeros(40, 5, dtype=torch.int8) for side in SIDES}
    rules["head"][:, 3], rules["tail"][:, 0] = PINNED, FORBIDDEN
    for size in (1, 2):
        chosen = choose_pairs(costs, size, rules)
        assert (chosen["head"] == 3).any(1).all()
        assert not (chosen["tail"] == 0).any()
        assert len(chosen["tail"].unique()) > 1


def test_translations_become_what_triples_have_to_bridge(graph: Graph) -> None:
    model, sample = make_model(graph), make_sample(graph)
    before = model.relations.detach().clone()
    fit_translations(model, sample, torch.tensor([True, False, True]))
    assert torch.equal(model.relations[1], before[1])
    for relation in (0, 2):
        torch.testing.assert_close(model.relations[relation], bridge(model, sample, relation))


class TestSteps:
    def test_a_step_writes_the_best_pairs_and_their_translations(self, graph: Graph) -> None:
        model, sample = make_model(graph), make_sample(graph)
        wanted = choose_pairs(pair_costs(model, sample, HINGE), 2, {side: model.rules(side) for side in SIDES})
        report = reassign(model, sample, HINGE, PAIRS)
        assert all(torch.equal(supports_of(model)[side], wanted[side]) for side in SIDES)
        assert report.changed == 1.0
        for relation in range(3):
            torch.testing.assert_close(model.relations[relation], bridge(model, sample, relation))

    def test_what_is_refused_leaves_supports_and_translations(self, graph: Graph) -> None:
        refused = 0.0
        for seed in range(6):
            model, sample = make_model(graph, seed=seed), make_sample(graph)
            losses, vectors, supports = (
                relation_losses(model, sample, HINGE),
                model.relations.detach().clone(),
                supports_of(model),
            )
            report = reassign(model, sample, HINGE, AssignmentConfig(search="pairs", accept="if_better"))
            assert (relation_losses(model, sample, HINGE) <= losses + 1e-12).all()
            stayed = torch.stack([(supports_of(model)[s] == supports[s]).all(1) for s in SIDES]).all(0)
            assert torch.equal(model.relations[stayed], vectors[stayed])
            refused += report.rejected
        assert refused > 0
