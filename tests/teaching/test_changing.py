from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import itransf
from itransf.data.graph import Graph
from itransf.errors import ConfigError, DataError
from itransf.interpret.ablation import Ablation
from itransf.models.projection import FORBIDDEN, PINNED
from itransf.run import Run
from itransf.storage import RunFolder
from itransf.teaching import changing
from itransf.teaching.changing import carry_names, choose_kept
from itransf.teaching.refitting import shorten
from itransf.training.trainer import weights


@pytest.fixture
def run(short: Callable[..., Run], random_graph: Callable[..., Graph]) -> Run:
    graph = random_graph(entities=12, relations=3, train=40, valid=8, test=8).labelled({"r1": "near"})
    made = short(graph, "itransf", "assignment.every=1")
    made.name_concepts({0: "city", 3: "state"})
    return made


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
        assert edited.graph.notes[-1] == "Concept 2 was merged into concept 1."
        edited.save(tmp_path / "new")
        assert itransf.open(tmp_path / "new", device="cpu").concepts().weights.shape == (2, 3, 4)
        assert run.edit(prune=1).config.model.support_size == 1

    def test_names_stand_for_numbers_and_all_are_those_of_before(self, run: Run) -> None:
        by_name = run.edit(pin=[("r0", "head", "state")], merge=[("1", "2")])
        assert by_name.model.project_head.rules[0].tolist() == [0, 0, PINNED, 0]
        notes = by_name.graph.notes[-2:]
        assert notes == ("Concept 3 (state) was pinned to the heads of r0.", "Concept 2 was merged into concept 1.")

    def test_merging_in_a_chain_makes_one(self, run: Run) -> None:
        edited = run.edit(merge=[(0, 1), (1, 2)])
        assert edited.config.model.concepts == 3
        assert edited.concept_names == {0: "city", 1: "state"}

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            ({"forbid": [("r0", "hed", 1)]}, "no side 'hed'.* Did you mean 'head'"),
            ({"forbid": [("r0", "head", 5)]}, "there is no concept 5; they are numbered 0 to 4"),
            (
                {"pin": [("r0", "head", "citty")]},
                "'citty' is not the name of a concept; give its number. Did you mean 'city'",
            ),
            ({"pin": [("r0", "head", 1)], "forbid": [("r0", "head", 1)]}, "both pinned and forbidden"),
            ({"merge": [(1, 9)]}, "there is no concept 9"),
            ({"merge": [(1, 2), (1, 2)]}, "cannot be merged with itself"),
            ({"prune": 5}, "5 concepts cannot be pruned to 5; give a number from 1 to 4"),
            ({"pin": [("r0", "head")]}, r"\('r0', 'head'\) is no place; give \(relation, side, concept\)"),
            ({"pin": ["r0.head=1"]}, "'r0.head=1' is no place"),
            ({"pin": [("r0", "head", 1.5)]}, "1.5 is not a concept; give its number or its name"),
            ({"pin": [("r0", 1, 1)]}, "there is no side 1; use 'head' or 'tail'"),
            ({"forbid": [5]}, "5 is no place; give"),
            ({"forbid": 5}, "forbid must be a list, not 5"),
            ({"merge": (1, 2)}, r"1 is no pair of concepts; give a list of \(concept, concept\), such as \[\(4, 9\)\]"),
            ({"merge": [(1, 2, 3)]}, r"\(1, 2, 3\) is no pair of concepts"),
            ({"merge": ["12"]}, "'12' is no pair of concepts"),
            ({"merge": None}, "merge must be a list, not None"),
            ({"prune": None}, "prune must be a whole number of at least 0, not None"),
            ({"prune": 2.5}, "prune must be a whole number of at least 0, not 2.5"),
        ],
    )
    def test_mistakes_are_told(self, run: Run, asked: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            run.edit(**asked)

    def test_unknown_relations_are_told(self, run: Run) -> None:
        with pytest.raises(DataError, match="unknown relation 'neer'"):
            run.edit(pin=[("neer", "head", 1)])

    def test_a_name_that_several_have_is_told(self, run: Run) -> None:
        run.name_concepts({1: "city"})
        with pytest.raises(ConfigError, match=r"'city' is the name of concepts 0, 1; give the number of one of them$"):
            run.edit(pin=[("r0", "head", "city")])

    def test_numbers_of_numpy_are_numbers(self, run: Run) -> None:
        used = supports(run, 1, "head")[0]
        edited = run.edit(forbid=[("near", "head", np.int64(used))])  # type: ignore[list-item]
        assert used not in supports(edited, 1, "head")

    def test_what_was_validated_before_is_not_told_of_the_edited_run(self, run: Run) -> None:
        assert run.info()["best"]["phase"] == "training"
        edited = run.edit(prune=4)
        info = edited.info()
        assert (info["best"], info["epochs"], info["refit_epochs"]) == (None, run.info()["epochs"], 0)
        refitted = edited.refit(2).info()
        assert (refitted["best"]["phase"], refitted["refit_epochs"]) == ("re-fit", 2)
        assert run.info()["best"] is not None  # the old run knows its own

    def test_a_model_without_concepts_has_none_to_edit(self, short: Callable[..., Run], run: Run) -> None:
        with pytest.raises(ConfigError, match="a transe model has no concepts"):
            short(run.graph, "transe").edit(prune=1)


class TestKept:
    def test_what_validation_misses_most_stays_and_use_decides_between_equals(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lost = [0.0, 0.2, None, 0.1, -0.3]
        losses = [None if value is None else Ablation(8, 8, 8, 0.5, 0.5 - value) for value in lost]
        monkeypatch.setattr(changing, "measure_ablations", lambda *_: losses)
        monkeypatch.setattr(changing, "measure_use", lambda *_: torch.tensor([1.0, 1.0, 2.0, 1.0, 9.0]))
        assert choose_kept(run.model, run.graph, 2) == [1, 3]
        assert choose_kept(run.model, run.graph, 3) == [1, 2, 3]
        assert choose_kept(run.model, run.graph, 4) == [0, 1, 2, 3]

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
        with pytest.raises(ConfigError, match=f"epochs must be a whole number of at least 0, not {epochs}"):
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
    assert carry_names({0: "a", 2: "c", 3: "d"}, {0: 0, 1: 1, 2: 1, 4: 2}) == {0: "a", 1: "c"}
    assert carry_names({1: "mine", 2: "gone"}, {1: 1, 2: 1}) == {1: "mine"}


def test_a_run_kept_before_there_were_rules_opens(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "old")
    folder = RunFolder(tmp_path / "old")
    tensors, triples = folder.read_tensors("model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if not name.endswith(".rules")}
    assert len(kept) == len(tensors) - 2
    folder.write_tensors("model.safetensors", kept, triples)
    opened = itransf.open(tmp_path / "old", device="cpu")
    assert not opened.model.project_head.rules.any()
