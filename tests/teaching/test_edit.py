from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import itransf
from itransf.config import AssignmentConfig
from itransf.data.graph import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, DataError
from itransf.interpret.ablation import Ablation
from itransf.models import SIDES, ConceptModel, ITransF, Side, Sizes
from itransf.models.concepts import FORBIDDEN, FREE, PINNED
from itransf.run import Run
from itransf.storage import RunFolder
from itransf.teaching import edit
from itransf.teaching.edit import (
    Costs,
    carry_names,
    choose_kept,
    drop_concepts,
    measure_costs,
    measure_use,
    merge_concepts,
    set_rule,
    shorten,
)
from itransf.training.assignment import draw_sample, obey, reassign
from itransf.training.losses import make_contrast_loss
from itransf.training.negatives import make_sampler
from itransf.training.trainer import weights
from sealing import put_tensors

SIZES = Sizes(9, 3)
CONCEPTS = 6
GRAPH = Graph(
    "numbers",
    Vocabulary([f"e{number}" for number in range(9)], kind="entity"),
    Vocabulary([f"r{number}" for number in range(3)], kind="relation"),
    *[np.zeros((0, 3), dtype=np.int64)] * 3,
)


def forbid(model: ITransF, costs: Costs, relation: int, side: Side, concept: int) -> ITransF:
    edited = deepcopy(model)
    set_rule(edited, GRAPH, costs, relation, side, concept, FORBIDDEN)
    return edited


def pin(model: ITransF, relation: int, side: Side, concept: int) -> ITransF:
    edited = deepcopy(model)
    set_rule(edited, GRAPH, {}, relation, side, concept, PINNED)
    return edited


def merge(model: ITransF, costs: Costs, kept: int, gone: int, use: Tensor) -> ITransF:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edit, "measure_use", lambda *_: use)
        return merge_concepts(deepcopy(model), GRAPH, costs, kept, gone)


def prune(model: ITransF, costs: Costs, kept: list[int]) -> ITransF:
    return drop_concepts(deepcopy(model), GRAPH, costs, [c for c in range(CONCEPTS) if c not in kept])


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


def well_formed(model: ConceptModel) -> bool:
    """Whether supports are distinct, ascending, and keep to the rules."""
    for part in model.parts:
        projection = model.concept_attention(part)
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
        old = model.concept_attention(side)
        concept = int(old.support[1, 0])
        edited = forbid(model, costs, 1, side, concept)
        new = edited.concept_attention(side)
        outside = [c for c in range(CONCEPTS) if c not in old.support[1].tolist()]
        cheapest = min(outside, key=lambda c: float(costs[side][1, c]))
        assert set(new.support[1].tolist()) == {*old.support[1].tolist()} - {concept} | {cheapest}
        assert new.scores[1, cheapest] == old.scores[1, concept]
        assert new.rules[1, concept] == FORBIDDEN
        assert well_formed(edited)
        assert untouched(model, before)

    def test_others_stay_as_they_are(self, side: Side) -> None:
        model = make_model()
        edited = forbid(model, make_costs(), 1, side, int(model.concept_attention(side).support[1, 0]))
        new, old = edited.concept_attention(side), model.concept_attention(side)
        assert torch.equal(new.support[[0, 2]], old.support[[0, 2]])
        assert torch.equal(edited.concepts, model.concepts)

    def test_what_is_not_used_changes_no_score(self, side: Side) -> None:
        model = make_model()
        unused = next(c for c in range(CONCEPTS) if c not in model.concept_attention(side).support[0].tolist())
        edited = forbid(model, make_costs(), 0, side, unused)
        assert torch.equal(score_everything(edited), score_everything(model))

    def test_more_than_can_be_spared_is_refused(self, side: Side) -> None:
        model = make_model()
        for concept in range(3):
            model = forbid(model, make_costs(), 0, side, concept)
        assert model.concept_attention(side).support[0].tolist() == [3, 4, 5]
        with pytest.raises(ConfigError, match=r"4 of 6 concepts .*forbidden"):
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
        with pytest.raises(ConfigError, match=r"4 concepts .*pinned"):
            pin(model, 0, "head", 2)

    def test_rules_that_contradict_earlier_ones_are_refused(self) -> None:
        pinned, forbidden = pin(make_model(), 0, "head", 2), forbid(make_model(), make_costs(), 0, "head", 2)
        with pytest.raises(ConfigError, match=r"concept 2 is pinned .*heads of r0.*forbidden"):
            forbid(pinned, make_costs(), 0, "head", 2)
        with pytest.raises(ConfigError, match=r"concept 2 is forbidden .*heads of r0.*pinned"):
            pin(forbidden, 0, "head", 2)
        assert well_formed(pin(pinned, 0, "head", 2))
        assert well_formed(pin(forbidden, 0, "tail", 2))


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
            old, new = model.concept_attention(side), edited.concept_attention(side)
            for relation in range(3):
                had = {1, 3} & set(old.support[relation].tolist())
                assert (1 in new.support[relation].tolist()) == bool(had)
                wanted = old.attention()[relation, [1, 3]].sum()
                torch.testing.assert_close(new.attention()[relation, 1], wanted, atol=0.02, rtol=0)

    def test_two_unused_concepts_count_the_same(self) -> None:
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
        with pytest.raises(ConfigError, match=r"concepts 2 and 4 .*merged"):
            merge(model, make_costs(), 2, 4, torch.ones(CONCEPTS))

    def test_with_itself_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"concept 2 .*merged with itself"):
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
            model.concept_attention(side).support[0] = torch.tensor([0, 2, 5])
        edited = prune(model, make_costs(), [0, 2, 3, 5])
        rows = torch.cartesian_prod(torch.arange(9), torch.tensor([0]), torch.arange(9)).T
        torch.testing.assert_close(edited.score(*rows), model.score(*rows))

    def test_fewer_than_a_support_holds_makes_supports_smaller(self) -> None:
        edited = prune(make_model(), make_costs(), [1, 4])
        assert edited.config.support_size == 2
        assert edited.project_tail.support.tolist() == [[0, 1]] * 3

    def test_a_model_whose_settings_have_no_number_of_concepts_keeps_them_all(self) -> None:
        model = make_model()
        model.config = SimpleNamespace(dim=4)
        with pytest.raises(ConfigError, match=r"ITransF.*model\.concepts and model\.support_size"):
            prune(model, make_costs(), [0, 1, 2])

    def test_what_is_pinned_cannot_go(self) -> None:
        with pytest.raises(ConfigError, match=r"pinned concept .*pruned"):
            prune(pin(make_model(), 0, "head", 4), make_costs(), [0, 1, 2])


class TestRulesHold:
    def test_pinned_costs_least_and_forbidden_most(self) -> None:
        rules = torch.tensor([[FREE, PINNED, FORBIDDEN]], dtype=torch.int8)
        assert obey(torch.tensor([[1.0, 2.0, 0.0]]), rules).tolist() == [[1.0, -torch.inf, torch.inf]]

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
                total += model.concept_attention(side).attention()[relation].detach()
        torch.testing.assert_close(measure_use(model, graph), total)


@pytest.fixture(scope="module")
def trained(short: Callable[..., Run], random_graph: Callable[..., Graph]) -> Run:
    graph = random_graph(entities=12, relations=3, train=40, valid=8, test=8).labelled({"r1": "near"})
    made = short(graph, "itransf", "assignment.every=1")
    made.name_concepts({0: "city", 3: "state"})
    return made


@pytest.fixture
def run(trained: Run) -> Run:
    """Return a copy, for a test may change the weights and the names."""
    made, model = trained, deepcopy(trained.model)
    return Run(made.graph, made.config, model, deepcopy(made.history), made.concept_names, record=made.record)


def supports(run: Run, relation: int, side: str) -> list[int]:
    found: list[int] = getattr(run.model, f"project_{side}").support[relation].tolist()
    return found


class TestEdit:
    def test_rules_hold_through_the_edit_the_refit_and_the_folder(self, run: Run, tmp_path: Path) -> None:
        used = supports(run, 1, "head")[0]
        spare = next(c for c in range(5) if c not in supports(run, 2, "tail"))
        edited = run.edit(forbid=[("near", "head", used)], pin=[("r2", "tail", spare)])
        refitted = edited.refit(4)
        for changed in (edited, refitted):
            assert used not in supports(changed, 1, "head")
            assert spare in supports(changed, 2, "tail")
        refitted.save(tmp_path / "new")
        again = itransf.open(tmp_path / "new", device="cpu").refit(4)
        assert again.model.project_head.rules[1, used] == FORBIDDEN
        assert again.model.project_tail.rules[2, spare] == PINNED
        assert used not in supports(again, 1, "head")
        assert spare in supports(again, 2, "tail")

    def test_a_learned_relation_keeps_the_rules(self, run: Run) -> None:
        edited = run.edit(forbid=[("near", "head", 1)])
        learned = edited.learn_relation("likes", [("e0", "e1"), ("e2", "e3")])
        assert learned.model.project_head.rules[1, 1] == FORBIDDEN
        assert not learned.model.project_head.rules[3].any()

    def test_the_old_run_is_left_alone(self, run: Run) -> None:
        before = {name: tensor.clone() for name, tensor in weights(run.model).items()}
        run.edit(forbid=[("r0", "head", 0)], merge=[(1, 2)], prune=3).refit(1)
        assert all(torch.equal(tensor, before[name]) for name, tensor in weights(run.model).items())
        assert run.concept_names == {0: "city", 3: "state"}
        assert run.config.model.concepts == 5

    def test_merging_and_pruning_change_settings_names_and_notes(self, run: Run, tmp_path: Path) -> None:
        edited = run.edit(merge=[(1, 2)])
        assert edited.config.model.concepts == 4
        assert edited.concept_names == {0: "city", 2: "state"}
        assert "(2) was merged into " in edited.graph.notes[-1]
        edited.save(tmp_path / "new")
        assert itransf.open(tmp_path / "new", device="cpu").concepts().weights.shape == (2, 3, 4)
        assert run.edit(prune=1).config.model.support_size == 1

    def test_names_and_numbers_are_those_before_the_edit(self, run: Run) -> None:
        by_name = run.edit(pin=[("r0", "head", "state")], merge=[("1", "2")])
        assert by_name.model.project_head.rules[0].tolist() == [0, 0, PINNED, 0]
        pinned, merged = by_name.graph.notes[-2:]
        assert all(words in pinned for words in ("The concept state (3)", "pinned", "heads of r0"))
        assert merged == "The concept r2 (H) + near (T) (2) was merged into r0 (T) + r2 (T) (1)."
        suggested = run.edit(merge=[("r0 (T) + r2 (T)", "r2 (H) + near (T)")])
        assert suggested.graph.notes[-1] == merged

    def test_merging_in_a_chain_makes_one(self, run: Run) -> None:
        edited = run.edit(merge=[(0, 1), (1, 2)])
        assert edited.config.model.concepts == 3
        assert edited.concept_names == {0: "city", 1: "state"}

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"forbid": [("r0", "hed", 1)]}, "no side 'hed'.* Did you mean 'head'"),
            ({"forbid": [("r0", "head", 5)]}, "no concept 5.*0 to 4"),
            ({"pin": [("r0", "head", "citty")]}, "'citty' .*Did you mean 'city'"),
            (
                {"pin": [("r0", "head", 1)], "forbid": [("r0", "head", 1)]},
                "concept 1 is forbidden to .*r0",
            ),
            ({"merge": [(1, 9)]}, "no concept 9"),
            ({"merge": [(1, 2), (1, 2)]}, "merged with itself"),
            ({"prune": 5}, "5 concepts .*pruned to 5; .*from 1 to 4"),
            ({"pin": [("r0", "head")]}, r"pin: \('r0', 'head'\) .*\(relation, side, concept\)"),
            ({"pin": ["r0.head=1"]}, "'r0.head=1' is not"),
            ({"pin": [("r0", "head", 1.5)]}, "1.5 "),
            ({"pin": [("r0", 1, 1)]}, "side 1.*'head' or 'tail'"),
            ({"forbid": [5]}, "5 is not a"),
            ({"forbid": 5}, "forbid .*list, not 5"),
            ({"merge": (1, 2)}, r"1 is not a \(concept, concept\)"),
            ({"merge": [(1, 2, 3)]}, r"\(1, 2, 3\) is not a"),
            ({"merge": ["12"]}, "'12' is not a"),
            ({"merge": None}, "merge .*list, not None"),
            ({"prune": None}, "prune .*None"),
            ({"prune": 2.5}, "prune .*2.5"),
        ],
    )
    def test_mistakes_are_reported(self, run: Run, asked: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            run.edit(**asked)

    def test_unknown_relations_are_reported(self, run: Run) -> None:
        with pytest.raises(DataError, match="unknown relation 'neer'"):
            run.edit(pin=[("neer", "head", 1)])

    def test_a_name_that_several_have_is_reported(self, run: Run) -> None:
        run.name_concepts({1: "city"})
        with pytest.raises(ConfigError, match=r"'city' .*concepts 0, 1"):
            run.edit(pin=[("r0", "head", "city")])

    def test_numbers_of_numpy_are_numbers(self, run: Run) -> None:
        used = supports(run, 1, "head")[0]
        edited = run.edit(forbid=[("near", "head", np.int64(used))])  # type: ignore[list-item]
        assert used not in supports(edited, 1, "head")

    def test_an_edited_run_does_not_repeat_old_validation(self, run: Run) -> None:
        assert run.info()["best"]["phase"] == "training"
        edited = run.edit(prune=4)
        info = edited.info()
        assert (info["best"], info["epochs"], info["refit_epochs"]) == (None, run.info()["epochs"], 0)
        refitted = edited.refit(2).info()
        assert (refitted["best"]["phase"], refitted["refit_epochs"]) == ("re-fit", 2)
        assert run.info()["best"] is not None  # the old run knows its own

    def test_a_model_without_concepts_has_none_to_edit(self, short: Callable[..., Run], run: Run) -> None:
        with pytest.raises(ConfigError, match=r"TransE .*no concepts"):
            short(run.graph, "transe").edit(prune=1)


@pytest.fixture
def products(short: Callable[..., Run], random_graph: Callable[..., Graph]) -> Run:
    """Return a run whose relations are sums of four symmetric and three antisymmetric concepts."""
    graph = random_graph(entities=14, relations=5, train=60, valid=12, test=8)
    run = short(graph, "icomplex", "model.concepts=7", "model.support_size=3")
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.normal_()
    return run


def vectors(run: Run) -> Tensor:
    return run.model.relation_table().detach()  # type: ignore[operator,no-any-return]


def used(run: Run, relation: int) -> list[int]:
    found: list[int] = run.model.attention.support[relation].tolist()  # type: ignore[union-attr,index]
    return found


class TestProducts:
    def test_a_forbidden_concept_is_replaced_and_the_vector_kept_where_it_can_be(self, products: Run) -> None:
        gone = used(products, 1)[0]
        edited = products.edit(forbid=[("r1", gone)])
        assert gone not in used(edited, 1)
        assert set(used(edited, 1)) > set(used(products, 1)) - {gone}
        assert well_formed(edited.model)
        assert torch.equal(vectors(edited)[[0, 2, 3, 4]], vectors(products)[[0, 2, 3, 4]])
        left = products.model.relation_table().detach()[1] - vectors(edited)[1]
        alone = products.model.compose(torch.eye(7)).detach()[used(edited, 1)]
        assert (alone @ left).abs().max() < 1e-3  # a least-squares fit
        assert "forbidden to r1." in edited.graph.notes[-1]

    def test_a_pinned_concept_is_taken_in_and_named_with_its_part_or_without(self, products: Run) -> None:
        new = next(concept for concept in range(7) if concept not in used(products, 2))
        short_form = products.edit(pin=[("r2", new)])
        long_form = products.edit(pin=[("r2", "relation", new)])
        shown = products.concepts().row("r2")
        assert set(used(short_form, 2)) == {new, *(each.concept for each in shown[:2])}
        assert used(short_form, 2) == used(long_form, 2)
        assert well_formed(short_form.model)

    def test_rules_about_what_is_so_already_change_no_score(self, products: Run) -> None:
        idle = next(concept for concept in range(7) if concept not in used(products, 2))
        edited = products.edit(forbid=[("r2", idle)], pin=[("r2", used(products, 2)[0])])
        assert torch.equal(vectors(edited), vectors(products))

    def test_merging_a_concept_with_its_opposite_changes_no_vector(self, products: Run) -> None:
        with torch.no_grad():
            products.model.concepts[5] = -2.0 * products.model.concepts[6]
            products.model.attention.support.copy_(
                torch.tensor([[0, 1, 5], [0, 1, 6], [1, 2, 6], [0, 2, 3], [2, 3, 5]])
            )
        edited = products.edit(merge=[(5, 6)])
        torch.testing.assert_close(vectors(edited), vectors(products), rtol=1e-3, atol=1e-3)
        assert edited.model.symmetries == ("symmetric",) * 4 + ("antisymmetric",) * 2
        assert well_formed(edited.model)

    def test_the_kinds_of_concepts_stay_when_others_go(self, products: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(edit, "choose_kept", lambda *_: [1, 4, 5, 6])
        pruned = products.edit(prune=4)
        assert pruned.model.symmetries == ("symmetric",) + ("antisymmetric",) * 3
        assert torch.equal(pruned.model.concepts, products.model.concepts[[1, 4, 5, 6]])
        assert well_formed(pruned.model)
        monkeypatch.setattr(edit, "choose_kept", lambda *_: [4, 5])
        with pytest.raises(ConfigError, match="no symmetric concept"):
            products.edit(prune=2)

    def test_rules_hold_through_refit_and_folder(self, products: Run, tmp_path: Path) -> None:
        gone, new = used(products, 1)[0], next(c for c in range(7) if c not in used(products, 2))
        edited = products.edit(forbid=[("r1", gone)], pin=[("r2", new)]).edit(prune=6).refit(1)
        edited.save(tmp_path / "new")
        opened = itransf.open(tmp_path / "new", device="cpu")
        assert int((opened.model.attention.rules == PINNED).sum()) == 1
        assert well_formed(opened.model)
        assert torch.equal(vectors(opened), vectors(edited))

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"merge": [(0, 5)]}, "concept 0 is symmetric and concept 5 is antisymmetric"),
            ({"pin": [("r0", "head", 1)]}, "no part 'head'.*'relation'"),
            ({"pin": ["r0"]}, r"'r0' is not a \(relation, concept\)"),
            ({"pin": [("r0", 1)], "forbid": [("r0", 1)]}, "concept 1 is forbidden to r0,"),
            ({"pin": [("r0", number) for number in range(4)]}, "4 concepts would be pinned"),
            ({"prune": 1}, "at least 2|no symmetric"),
        ],
    )
    def test_mistakes_are_reported(self, products: Run, asked: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            products.edit(**asked)


class TestKept:
    def test_what_validation_misses_most_stays_and_use_decides_between_equals(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lost = [0.0, 0.2, None, 0.1, -0.3]
        losses = [None if value is None else Ablation(8, 8, 8, 0.5, 0.5 - value) for value in lost]
        monkeypatch.setattr(edit, "measure_ablations", lambda *_, **__: losses)
        monkeypatch.setattr(edit, "measure_use", lambda *_: torch.tensor([1.0, 1.0, 2.0, 1.0, 9.0]))
        assert choose_kept(run.model, run.graph, 2) == [1, 3]
        assert choose_kept(run.model, run.graph, 3) == [1, 2, 3]
        assert choose_kept(run.model, run.graph, 4) == [0, 1, 2, 3]

    def test_test_triples_decide_nothing(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        found, measure = [], edit.measure_ablations
        monkeypatch.setattr(
            edit, "measure_ablations", lambda *given, **options: found.append(measure(*given, **options)) or found[-1]
        )
        heads = np.arange(len(run.graph.entities))
        first, relation, tail = run.graph.valid[0].tolist()
        competitors = np.array([(head, relation, tail) for head in heads if head != first])
        for test in (run.graph.test, competitors):
            choose_kept(run.model, replace(run.graph, test=test), 2)
        assert found[0] == found[1]

    def test_without_validation_use_decides(self, short: Callable[..., Run], number_graph: Callable) -> None:
        graph = number_graph([(0, 0, 1), (1, 0, 2), (2, 1, 0), (3, 0, 2), (1, 0, 3)])
        run = short(graph, "itransf", "validation.every=0")
        with torch.no_grad():
            for side in ("head", "tail"):
                projection = getattr(run.model, f"project_{side}")
                projection.support[0], projection.support[1] = torch.tensor([2, 3]), torch.tensor([0, 1])
        assert choose_kept(run.model, graph, 2) == [2, 3]

    def test_pinned_ones_stay(self, run: Run) -> None:
        edited = run.edit(pin=[("r0", "head", 4), ("r1", "tail", 0)])
        assert choose_kept(edited.model, run.graph, 2) == [0, 4]


class TestRefit:
    def test_it_goes_on_from_the_weights_and_keeps_the_settings(self, run: Run) -> None:
        refitted = run.refit(2)
        assert [line["phase"] for line in refitted.history] == ["training"] * 3 + ["re-fit"] * 2
        assert refitted.config == run.config
        assert refitted.info()["epochs"] == 3
        near = torch.dist(refitted.model.entities, run.model.entities)
        far = torch.dist(refitted.model.entities, torch.randn_like(run.model.entities))
        assert 0 < near < far

    def test_its_settings_are_the_runs_but_for_length_and_rate(self, run: Run) -> None:
        config = shorten(replace(run.config, training=replace(run.config.training, weight_averaging=0.9)), 4)
        assert config.training.weight_averaging == 0.0
        assert (config.training.epochs, config.assignment.start, config.assignment.stop) == (4, 1, 0.5)
        assert config.training.learning_rate == pytest.approx(0.1 * run.config.training.learning_rate)
        assert config.training.optimizer == run.config.training.optimizer
        assert config.loss == run.config.loss
        assert config.warm_start.epochs == 0

    @pytest.mark.parametrize("epochs", [-1, 1.5, True])
    def test_only_whole_epochs_are_trained(self, run: Run, epochs: Any) -> None:
        with pytest.raises(ConfigError, match=rf"epochs .*at least 0.* {epochs}"):
            run.refit(epochs)

    @pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
    def test_gradients_may_be_off_outside(self, run: Run, mode: Callable[[], Any]) -> None:
        wanted = run.edit(merge=[(1, 2)]).refit(1)
        with mode():
            edited = run.edit(merge=[(1, 2)])
            refitted = edited.refit(1)
        assert not any(tensor.is_inference() for changed in (edited, refitted) for tensor in changed.model.parameters())
        assert all(torch.equal(tensor, weights(wanted.model)[name]) for name, tensor in weights(refitted.model).items())

    def test_supports_that_were_never_chosen_stay_where_they_are(self, short: Callable[..., Run], run: Run) -> None:
        fixed = short(run.graph, "itransf")
        assert shorten(fixed.config, 4).assignment.every == 0
        assert torch.equal(fixed.refit(3).model.project_head.support, fixed.model.project_head.support)


def test_names_follow_their_concepts() -> None:
    assert carry_names({0: "a", 2: "c", 3: "d"}, {0: 0, 1: 1, 2: 1, 4: 2}, {2}) == {0: "a", 1: "c"}
    assert carry_names({1: "mine", 2: "gone"}, {1: 1, 2: 1}, {2}) == {1: "mine"}


@pytest.mark.parametrize(
    ("pairs", "names"),
    [([(4, 2)], {3: "four", 1: "one"}), ([(1, 2), (4, 1)], {2: "four"}), ([(1, 4), (2, 4)], {1: "two"})],
)
def test_the_concept_that_others_are_merged_into_keeps_its_name(
    run: Run, pairs: list[tuple[int, int]], names: dict[int, str]
) -> None:
    called = {1: "one", 2: "two", 4: "four"}
    *_, found = edit.edit_concepts(run.model, run.graph, run.config, called, merge=pairs)
    assert found == names


def test_a_run_kept_before_there_were_rules_opens(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "old")
    folder = RunFolder(tmp_path / "old")
    tensors, triples = folder.read_tensors("model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if not name.endswith(".rules")}
    assert len(kept) == len(tensors) - 2
    put_tensors(folder.path, "model.safetensors", kept, triples)
    opened = itransf.open(tmp_path / "old", device="cpu")
    assert not opened.model.project_head.rules.any()
