from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from itransf.config import AssignmentConfig
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.models import SIDES, ITransF, Side, Sizes
from itransf.models.projection import FORBIDDEN, FREE, PINNED
from itransf.teaching.changing import measure_costs, measure_use
from itransf.teaching.edits import Costs, forbid, merge, pin, prune
from itransf.training.assignment import draw_sample, obey, reassign
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import make_sampler
from itransf.training.trainer import weights

SIZES = Sizes(9, 3)
CONCEPTS = 6


def make_model(attention: str = "sparse", size: int = 3) -> ITransF:
    torch.manual_seed(1)
    config = ITransF.Config(dim=4, p_norm=2, concepts=CONCEPTS, support_size=size, attention=attention)
    model = ITransF(SIZES, config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5)
    return model.eval()


def make_costs(seed: int = 0) -> Costs:
    generator = torch.Generator().manual_seed(seed)
    return {side: torch.rand(3, CONCEPTS, generator=generator) for side in SIDES}


def score_everything(model: ITransF) -> Tensor:
    heads, relations, tails = torch.cartesian_prod(torch.arange(9), torch.arange(3), torch.arange(9)).T
    return model.score(heads, relations, tails).detach()


def copies(model: ITransF) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in weights(model).items()}


def untouched(model: ITransF, before: dict[str, Tensor]) -> bool:
    return all(torch.equal(tensor, before[name]) for name, tensor in weights(model).items())


def well_formed(model: ITransF) -> bool:
    """Whether supports are distinct, ascending, and keep to the rules."""
    for side in SIDES:
        projection = model.concept_projection(side)
        inside = torch.zeros_like(projection.rules, dtype=torch.bool).scatter_(1, projection.support, True)
        if not bool((projection.support.diff(dim=1) > 0).all()):
            return False
        if bool((inside & (projection.rules == FORBIDDEN)).any() | (~inside & (projection.rules == PINNED)).any()):
            return False
    return True


@pytest.mark.parametrize("side", SIDES)
class TestForbid:
    def test_the_cheapest_takes_its_place_and_score(self, side: Side) -> None:
        model, costs = make_model(), make_costs()
        before = copies(model)
        old = model.concept_projection(side)
        concept = int(old.support[1, 0])
        edited = forbid(model, costs, 1, side, concept)
        new = edited.concept_projection(side)
        outside = [c for c in range(CONCEPTS) if c not in old.support[1].tolist()]
        cheapest = min(outside, key=lambda c: float(costs[side][1, c]))
        assert set(new.support[1].tolist()) == {*old.support[1].tolist()} - {concept} | {cheapest}
        assert new.scores[1, cheapest] == old.scores[1, concept]
        assert new.rules[1, concept] == FORBIDDEN
        assert well_formed(edited)
        assert untouched(model, before)

    def test_others_stay_as_they_are(self, side: Side) -> None:
        model = make_model()
        edited = forbid(model, make_costs(), 1, side, int(model.concept_projection(side).support[1, 0]))
        new, old = edited.concept_projection(side), model.concept_projection(side)
        assert torch.equal(new.support[[0, 2]], old.support[[0, 2]])
        assert torch.equal(edited.concepts, model.concepts)

    def test_what_is_not_used_changes_no_score(self, side: Side) -> None:
        model = make_model()
        unused = next(c for c in range(CONCEPTS) if c not in model.concept_projection(side).support[0].tolist())
        edited = forbid(model, make_costs(), 0, side, unused)
        assert torch.equal(score_everything(edited), score_everything(model))

    def test_more_than_can_be_spared_is_refused(self, side: Side) -> None:
        model = make_model()
        for concept in range(3):
            model = forbid(model, make_costs(), 0, side, concept)
        assert model.concept_projection(side).support[0].tolist() == [3, 4, 5]
        with pytest.raises(ConfigError, match="4 of 6 concepts would be forbidden"):
            forbid(model, make_costs(), 0, side, 3)

    @pytest.mark.parametrize("attention", ["dense", "l1"])
    def test_attention_without_supports_has_nothing_to_forbid(self, side: Side, attention: str) -> None:
        with pytest.raises(ConfigError, match=f"{attention}.* has no supports"):
            forbid(make_model(attention), make_costs(), 0, side, 1)


class TestPin:
    def test_it_replaces_the_lightest_and_weighs_as_the_heaviest(self) -> None:
        model = make_model()
        before = copies(model)
        old = model.project_head
        concept = next(c for c in range(CONCEPTS) if c not in old.support[2].tolist())
        edited = pin(model, 2, "head", concept)
        weights_now = edited.project_head.attention()[2].detach()
        lightest = min(old.support[2].tolist(), key=old.scores[2].tolist().__getitem__)
        assert set(edited.project_head.support[2].tolist()) == {*old.support[2].tolist()} - {lightest} | {concept}
        assert float(weights_now[concept]) == pytest.approx(float(weights_now.max()))
        assert well_formed(edited)
        assert untouched(model, before)

    def test_what_is_there_already_changes_no_score(self) -> None:
        model = make_model()
        edited = pin(model, 0, "tail", int(model.project_tail.support[0, 1]))
        assert torch.equal(score_everything(edited), score_everything(model))

    def test_a_pinned_one_is_not_driven_out_by_the_next(self) -> None:
        model = make_model()
        for concept in (0, 1, 5):
            model = pin(model, 0, "head", concept)
        assert model.project_head.support[0].tolist() == [0, 1, 5]
        with pytest.raises(ConfigError, match="4 concepts would be pinned"):
            pin(model, 0, "head", 2)

    def test_the_last_word_counts(self) -> None:
        model = forbid(pin(make_model(), 0, "head", 2), make_costs(), 0, "head", 2)
        assert 2 not in model.project_head.support[0].tolist()
        assert well_formed(pin(model, 0, "head", 2))


class TestMerge:
    @pytest.mark.parametrize("attention", ["sparse", "dense", "l1"])
    def test_equal_concepts_merge_without_a_trace(self, attention: str) -> None:
        model = make_model(attention)
        with torch.no_grad():
            model.concepts[4] = model.concepts[1]
        before, old = copies(model), score_everything(model)
        edited = merge(model, make_costs(), 1, 4, torch.rand(CONCEPTS))
        # A place that fell free holds a newcomer at a faint weight; elsewhere nothing changes.
        torch.testing.assert_close(score_everything(edited), old, atol=0.05, rtol=0)
        assert edited.config.concepts == CONCEPTS - 1
        assert len(edited.concepts) == CONCEPTS - 1
        assert untouched(model, before)
        assert well_formed(edited)

    def test_matrix_members_and_numbers(self) -> None:
        model = make_model()
        use = torch.tensor([1.0, 3.0, 1.0, 1.0, 1.0, 1.0])
        edited = merge(model, make_costs(), 1, 3, use)
        torch.testing.assert_close(edited.concepts[1], 0.75 * model.concepts[1] + 0.25 * model.concepts[3])
        assert torch.equal(edited.concepts[[0, 2, 3, 4]], model.concepts[[0, 2, 4, 5]])
        for side in SIDES:
            old, new = model.concept_projection(side), edited.concept_projection(side)
            for relation in range(3):
                had = {1, 3} & set(old.support[relation].tolist())
                assert (1 in new.support[relation].tolist()) == bool(had)
                wanted = old.attention()[relation, [1, 3]].sum()
                torch.testing.assert_close(new.attention()[relation, 1], wanted, atol=0.02, rtol=0)

    def test_two_that_nobody_uses_count_the_same(self) -> None:
        model = make_model()
        edited = merge(model, make_costs(), 0, 5, torch.zeros(CONCEPTS))
        torch.testing.assert_close(edited.concepts[0], (model.concepts[0] + model.concepts[5]) / 2)

    def test_rules_are_carried_over(self) -> None:
        model = forbid(pin(make_model(), 0, "head", 4), make_costs(), 1, "tail", 4)
        edited = merge(model, make_costs(), 2, 4, torch.ones(CONCEPTS))
        assert edited.project_head.rules[0, 2] == PINNED
        assert edited.project_tail.rules[1, 2] == FORBIDDEN
        assert well_formed(edited)

    def test_rules_that_contradict_each_other_are_refused(self) -> None:
        model = forbid(pin(make_model(), 0, "head", 4), make_costs(), 0, "head", 2)
        with pytest.raises(ConfigError, match="concepts 2 and 4 cannot be merged"):
            merge(model, make_costs(), 2, 4, torch.ones(CONCEPTS))

    def test_with_itself_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="concept 2 cannot be merged with itself"):
            merge(make_model(), make_costs(), 2, 2, torch.ones(CONCEPTS))

    def test_supports_that_held_all_hold_all_that_are_left(self) -> None:
        model = make_model(size=CONCEPTS)
        edited = merge(model, make_costs(), 0, 1, torch.ones(CONCEPTS))
        assert edited.config.support_size == CONCEPTS - 1
        assert edited.project_head.support.tolist() == [[0, 1, 2, 3, 4]] * 3
        wanted = model.project_head.attention()[:, [0, 1]].sum(1)
        torch.testing.assert_close(edited.project_head.attention()[:, 0], wanted)


class TestPrune:
    @pytest.mark.parametrize("attention", ["sparse", "dense", "l1"])
    def test_what_stays_is_as_it_was(self, attention: str) -> None:
        model = make_model(attention)
        before = copies(model)
        edited = prune(model, make_costs(), [5, 0, 2, 3])
        assert torch.equal(edited.concepts, model.concepts[[0, 2, 3, 5]])
        assert torch.equal(edited.entities, model.entities)
        assert well_formed(edited)
        assert untouched(model, before)
        assert torch.isfinite(score_everything(edited)).all()

    def test_users_of_nothing_that_goes_keep_their_scores(self) -> None:
        model = make_model()
        for side in SIDES:
            model.concept_projection(side).support[0] = torch.tensor([0, 2, 5])
        edited = prune(model, make_costs(), [0, 2, 3, 5])
        rows = torch.cartesian_prod(torch.arange(9), torch.tensor([0]), torch.arange(9)).T
        torch.testing.assert_close(edited.score(*rows), model.score(*rows))

    def test_fewer_than_a_support_holds_makes_supports_smaller(self) -> None:
        edited = prune(make_model(), make_costs(), [1, 4])
        assert edited.config.support_size == 2
        assert edited.project_tail.support.tolist() == [[0, 1]] * 3

    def test_what_is_pinned_cannot_go(self) -> None:
        with pytest.raises(ConfigError, match="a pinned concept cannot be pruned"):
            prune(pin(make_model(), 0, "head", 4), make_costs(), [0, 1, 2])


class TestRulesHold:
    def test_pinned_costs_least_and_forbidden_most(self) -> None:
        rules = torch.tensor([[FREE, PINNED, FORBIDDEN]], dtype=torch.int8)
        assert obey(torch.tensor([[1.0, 2.0, 0.0]]), rules).tolist() == [[1.0, -torch.inf, torch.inf]]
        assert obey(torch.ones(1, 3), None).tolist() == [[1.0] * 3]

    @pytest.mark.parametrize("accept", ["always", "if_better"])
    def test_the_choice_of_concepts_keeps_to_them(
        self, random_graph: Callable[..., Graph], configure: Callable, accept: str
    ) -> None:
        graph, config = random_graph(entities=9, relations=3, train=40), configure()
        model = make_model()
        costs = measure_costs(model, graph, config)
        for relation in range(3):
            cheapest = int(costs["head"][relation].argmin())
            dearest = int(costs["tail"][relation].argmax())
            model = forbid(model, costs, relation, "head", cheapest)
            model = pin(model, relation, "tail", dearest)
        sampler = make_sampler(graph, config.negatives, torch.device("cpu"))
        sample = draw_sample(torch.as_tensor(graph.train), sampler, 0, 2, torch.Generator().manual_seed(0))
        settings = AssignmentConfig(accept=accept)  # type: ignore[arg-type]
        reassign(model, sample, make_contrast_loss(config.loss), settings)
        assert well_formed(model)

    def test_use_is_attention_times_triples(self, random_graph: Callable[..., Graph]) -> None:
        graph, model = random_graph(entities=9, relations=3, train=40), make_model()
        total = torch.zeros(CONCEPTS)
        for relation in graph.train[:, 1].tolist():
            for side in SIDES:
                total += model.concept_projection(side).attention()[relation].detach()
        torch.testing.assert_close(measure_use(model, graph), total)
