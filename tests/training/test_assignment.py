from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from itransf.config import AssignmentConfig, LossConfig, NegativesConfig
from itransf.data.graph import Graph
from itransf.models import SIDES, ITransF, Side, Sizes
from itransf.models.base import list_negatives
from itransf.ops.grouped import occurrence_numbers
from itransf.training import assignment as sampling
from itransf.training.assignment import (
    NEARNESS,
    Sample,
    choose_lowest,
    draw_sample,
    reassign,
    relation_losses,
    single_concept_costs,
)
from itransf.training.losses import ContrastLoss, make_contrast_loss
from itransf.training.negatives import make_sampler

if TYPE_CHECKING:
    from conftest import GraphMaker

CPU = torch.device("cpu")
NEGATIVES = NegativesConfig(per_triple=1, sampler="uniform", domain=0.0, filtered=True, tries=3)
HINGE = make_contrast_loss(LossConfig(name="hinge", margin=1.0))
LOSSES = {
    "hinge": HINGE,
    "adversarial": make_contrast_loss(LossConfig(name="self_adversarial", margin=2.0, adversarial_temperature=0.5)),
    "softmax": make_contrast_loss(LossConfig(name="cross_entropy", scale=2.0)),
}


def make_model(graph: Graph, seed: int = 0, **settings: Any) -> ITransF:
    """Return ITransF with random concepts, so that the choice matters."""
    torch.manual_seed(seed)
    kind = {"p_norm": 1, "projected_constraint": "unit", **settings}
    config = ITransF.Config(dim=4, concepts=6, support_size=2, temperature=0.25, **kind)
    model = ITransF(Sizes(len(graph.entities), len(graph.relations)), config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5)
    return model


def make_sample(graph: Graph, triples: int = 0, negatives: int = 2, seed: int = 0) -> Sample:
    sampler = make_sampler(graph, NEGATIVES, CPU)
    return draw_sample(torch.as_tensor(graph.train), sampler, triples, negatives, torch.Generator().manual_seed(seed))


def supports_of(model: ITransF) -> dict[Side, Tensor]:
    return {side: model.concept_attention(side).support.clone() for side in SIDES}


def brute_force_costs(model: ITransF, sample: Sample, side: Side, loss: ContrastLoss) -> Tensor:
    """The paper's L_{r,i}: put all of a side's weight on concept i and add up each relation's loss."""
    kept = supports_of(model)
    support = model.concept_attention(side).support
    costs = torch.zeros(model.sizes.relations, 6, dtype=torch.float64)
    for concept in range(6):
        support.fill_(concept)
        for head, relation, tail, is_head, row in zip(
            *(part.tolist() for part in (sample.heads, sample.relations, sample.tails, *sample.corruption)),
            strict=True,
        ):
            made = [(e, relation, tail) if is_head else (head, relation, e) for e in row]
            scores = model.score(*torch.tensor([(head, relation, tail), *made]).T).detach()
            costs[relation, concept] += float(loss(scores[:1], scores[None, 1:]) - NEARNESS * scores[0])
    support.copy_(kept[side])
    return costs


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=9, relations=4, train=50, valid=0, test=4)


class TestCosts:
    @pytest.mark.parametrize("side", SIDES)
    @pytest.mark.parametrize("loss", list(LOSSES))
    def test_single_concept_costs_equal_brute_force(self, graph: Graph, side: Side, loss: str) -> None:
        model, sample = make_model(graph), make_sample(graph)
        found = single_concept_costs(model, sample, side, LOSSES[loss])
        torch.testing.assert_close(found, brute_force_costs(model, sample, side, LOSSES[loss]))

    def test_chunks_do_not_change_costs_losses_or_choices(self, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
        sample, results = make_sample(graph), []
        for numbers in (1, 100, 1 << 24):
            monkeypatch.setattr(sampling, "CHUNK_NUMBERS", numbers)
            model = make_model(graph)
            costs = {side: single_concept_costs(model, sample, side, HINGE) for side in SIDES}
            losses = relation_losses(model, sample, HINGE)
            reassign(model, sample, HINGE, AssignmentConfig(accept="if_better"))
            results.append((costs, losses, supports_of(model)))
        for costs, losses, supports in results[:-1]:
            torch.testing.assert_close(losses, results[-1][1])
            for side in SIDES:
                torch.testing.assert_close(costs[side], results[-1][0][side])
                assert torch.equal(supports[side], results[-1][2][side])

    def test_relation_losses_are_sums_over_each_relations_triples(self, graph: Graph) -> None:
        model, sample = make_model(graph), make_sample(graph)
        positive, negative = model.score_contrast(sample.heads, sample.relations, sample.tails, *sample.corruption)
        values = HINGE(positive, negative).detach()
        wanted = [float(values[sample.relations == relation].sum()) for relation in range(4)]
        assert relation_losses(model, sample, HINGE).tolist() == pytest.approx(wanted)


def test_the_lowest_costs_are_chosen_in_the_order_of_their_numbers() -> None:
    costs = torch.tensor([[5.0, 1.0, 3.0, 0.5], [0.0, 9.0, 8.0, 7.0]])
    assert choose_lowest(costs, 2).tolist() == [[1, 3], [0, 3]]
    assert choose_lowest(costs, 4).tolist() == [[0, 1, 2, 3]] * 2


def test_of_concepts_that_cost_nothing_those_nearest_are_chosen(graph: Graph) -> None:
    model, sample = make_model(graph), make_sample(graph)
    content = make_contrast_loss(LossConfig(name="hinge", margin=-1000.0))
    assert not relation_losses(model, sample, content).any()
    distances = torch.zeros(model.sizes.relations, 6, dtype=torch.float64)
    distances.index_add_(
        0, sample.relations, -model.single_concept_scores(sample.heads, sample.relations, sample.tails, "head")
    )
    reassign(model, sample, content, AssignmentConfig(accept="always"))
    assert torch.equal(model.project_head.support, choose_lowest(distances, 2))


class TestReassign:
    def test_together_both_sides_take_the_lowest_under_the_same_parameters(self, graph: Graph) -> None:
        model, sample = make_model(graph), make_sample(graph)
        wanted = {side: choose_lowest(brute_force_costs(model, sample, side, HINGE), 2) for side in SIDES}
        before = supports_of(model)
        report = reassign(model, sample, HINGE, AssignmentConfig(accept="always"))
        for side, support in supports_of(model).items():
            assert torch.equal(support, wanted[side])
        moved = torch.stack([(wanted[side] != before[side]).any(1) for side in SIDES]).any(0)
        assert report.changed == pytest.approx(float(moved.float().mean()))
        assert report.rejected == 0.0

    def test_if_better_never_raises_a_relations_loss(self, graph: Graph) -> None:
        refused = raised = 0
        for seed in range(8):
            sample = make_sample(graph, seed=seed)
            model, always = make_model(graph, seed), make_model(graph, seed)
            before = relation_losses(model, sample, HINGE)
            report = reassign(model, sample, HINGE, AssignmentConfig(accept="if_better"))
            assert bool((relation_losses(model, sample, HINGE) <= before).all())
            refused += report.rejected > 0
            reassign(always, sample, HINGE, AssignmentConfig(accept="always"))
            raised += bool((relation_losses(always, sample, HINGE) > before).any())
        assert refused > 0  # the test means something: there was what to refuse,
        assert raised > 0  # and taking the lowest alone does not guarantee it

    def test_refused_relations_keep_their_supports_and_others_take_the_new(self, graph: Graph) -> None:
        sample = make_sample(graph, seed=1)
        careful, always = make_model(graph, 1), make_model(graph, 1)
        before, loss_before = supports_of(careful), relation_losses(careful, sample, HINGE)
        report = reassign(careful, sample, HINGE, AssignmentConfig(accept="if_better"))
        reassign(always, sample, HINGE, AssignmentConfig(accept="always"))
        worse = relation_losses(always, sample, HINGE) > loss_before
        for side in SIDES:
            wanted = torch.where(worse[:, None], before[side], supports_of(always)[side])
            assert torch.equal(supports_of(careful)[side], wanted)
        moved = torch.stack([(supports_of(always)[side] != before[side]).any(1) for side in SIDES]).any(0)
        assert report.rejected == pytest.approx(int((worse & moved).sum()) / max(int(moved.sum()), 1))

    def test_a_second_step_that_finds_the_same_changes_nothing(self, graph: Graph) -> None:
        model, sample = make_model(graph), make_sample(graph)
        for _ in range(20):
            report = reassign(model, sample, HINGE, AssignmentConfig(accept="if_better"))
        assert report.changed == 0.0

    @pytest.mark.parametrize("accept", ["always", "if_better"])
    def test_a_relation_without_triples_keeps_its_supports(self, number_graph: GraphMaker, accept: str) -> None:
        graph = number_graph([(0, 0, 1), (1, 0, 2), (2, 2, 0)], test=[(0, 1, 2)], entities=5)
        model = make_model(graph)
        before = supports_of(model)
        config = AssignmentConfig(accept=accept)  # type: ignore[arg-type]
        report = reassign(model, make_sample(graph), HINGE, config)
        for side, support in supports_of(model).items():
            assert torch.equal(support[1], before[side][1])
        assert 0.0 <= report.changed <= 1.0

    def test_supports_keep_their_size_and_stay_distinct(self, graph: Graph) -> None:
        model = make_model(graph)
        reassign(model, make_sample(graph), HINGE, AssignmentConfig(accept="always"))
        for support in supports_of(model).values():
            assert support.shape == (4, 2)
            assert bool((support[:, 0] < support[:, 1]).all())


class TestSample:
    def test_all_triples_are_taken_where_no_cap_is_set(self, graph: Graph) -> None:
        sample = make_sample(graph, triples=0, negatives=3)
        triples = torch.stack([sample.heads, sample.relations, sample.tails], dim=1)
        assert sorted(triples.tolist()) == sorted(graph.train.tolist())
        assert bool((sample.relations.diff() >= 0).all())
        assert sample.corruption.replacements.shape == (50, 3)

    def test_the_cap_counts_per_relation(self, graph: Graph) -> None:
        sample = make_sample(graph, triples=4)
        available = Counter(graph.train[:, 1].tolist())
        assert Counter(sample.relations.tolist()) == {r: min(count, 4) for r, count in available.items()}
        triples = {tuple(row) for row in torch.stack([sample.heads, sample.relations, sample.tails], 1).tolist()}
        assert len(triples) == len(sample.heads)
        assert triples <= {tuple(triple) for triple in graph.train.tolist()}
        other = make_sample(graph, triples=4, seed=1)
        assert other.heads.tolist() != sample.heads.tolist()

    def test_negatives_belong_to_their_triples(self, graph: Graph) -> None:
        sample = make_sample(graph, triples=5, negatives=1)
        train = {tuple(triple) for triple in graph.train.tolist()}
        owners = torch.arange(len(sample.heads))
        negatives = list_negatives(sample.heads, sample.relations, sample.tails, owners, *sample.corruption)
        heads, relations, tails = (part.tolist() for part in negatives)
        made = list(zip(heads, relations, tails, strict=True))
        assert relations == sample.relations.tolist()
        assert sum(triple in train for triple in made) < len(made) / 4


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 4), max_size=20))
def test_occurrence_numbers_count_equal_elements_before(keys: list[int]) -> None:
    wanted = [keys[:place].count(key) for place, key in enumerate(keys)]
    assert occurrence_numbers(torch.tensor(keys, dtype=torch.int64)).tolist() == wanted


def test_triples_are_sampled_in_proportion_to_their_weights(random_graph: GraphMaker) -> None:
    graph = random_graph(train=40)
    train, generator = torch.as_tensor(graph.train), torch.Generator().manual_seed(0)
    factors = torch.linspace(0, 2, len(train))
    counts = torch.zeros(len(train))
    index = {tuple(triple): number for number, triple in enumerate(graph.train.tolist())}
    for _ in range(200):
        drawn = draw_sample(train, make_sampler(graph, NEGATIVES, CPU), 0, 1, generator, factors)
        for triple in zip(drawn.heads.tolist(), drawn.relations.tolist(), drawn.tails.tolist(), strict=True):
            counts[index[triple]] += 1
    torch.testing.assert_close(counts / 200, factors, atol=0.35, rtol=0)
    assert counts[0] == 0
