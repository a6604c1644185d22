from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from benchmarks.trust.kills import Fault, count_operations, restore
from benchmarks.trust.trials import in_process

from comparing import same_weights
from itransf.cli.output import describe_training
from itransf.data.graph import Graph
from itransf.errors import CheckpointError, ConfigError, ITransFError, RunError, name_count
from itransf.evaluation import evaluate
from itransf.fitting import describe_epoch
from itransf.interpret import align_concepts
from itransf.models import Ensemble
from itransf.records import Manifest, find_runs, judge_state, read_manifest, write_manifest
from itransf.run import EnsembleRun, Run, compare, open_run, seal
from itransf.storage import RunFolder
from itransf.training import EpochReport
from training.interruption import FragileFolder, InterruptionError

if TYPE_CHECKING:
    from conftest import GraphMaker


@pytest.fixture(scope="module")
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=30, valid=8, test=8)


@pytest.fixture(scope="module")
def made(short: Any, graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("ensemble") / "e"
    short(graph, "itransf", seeds=3, seed=4, out=path)
    return path


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A folder of an ensemble that a test may change."""
    shutil.copytree(made, tmp_path / "e")
    return tmp_path / "e"


def open_ensemble(path: Path) -> EnsembleRun:
    run = open_run(path, device="cpu")
    assert isinstance(run, EnsembleRun)
    return run


class TestTraining:
    def test_members_are_the_runs_of_each_seed(self, short: Any, graph: Graph, made: Path) -> None:
        opened = open_ensemble(made)
        assert [member.config.seed for member in opened.members] == [4, 5, 6]
        for member in opened.members:
            alone = short(graph, "itransf", seed=member.config.seed)
            assert same_weights(member, alone)
            assert member.config == alone.config
            assert same_weights(open_run(opened.locate(member), device="cpu"), alone)

    def test_it_ranks_by_the_ensemble_of_its_members(self, made: Path) -> None:
        opened = open_ensemble(made)
        wanted = evaluate(Ensemble([member.model for member in opened.members]), opened.graph)
        assert opened.evaluate().to_dict() == wanted.to_dict()
        valid = opened.record.validation
        assert valid is not None
        assert valid[0] == "mrr"
        assert 0 < valid[1] <= 1
        opened.record_metrics(wanted, made)
        assert open_ensemble(made).record.metrics["test"]["mrr"] == wanted["mrr"]

    def test_epochs_are_those_of_a_seed(self, made: Path) -> None:
        opened = open_ensemble(made)
        info, own = opened.info(), opened.members[1].info()
        assert (info["epochs"], info["warm_start_epochs"]) == (own["epochs"], own["warm_start_epochs"])
        assert own["epochs"] > 0
        assert f"{name_count(own['epochs'], 'epoch')} for each seed in" in describe_training(info)
        assert "for each seed" not in describe_training(own)

    def test_one_seed_is_a_plain_run(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, "transe", seeds=1, out=tmp_path / "run")
        assert type(run) is Run
        assert run.members == ()
        assert "members" not in (tmp_path / "run" / "run.json").read_text()
        assert "members" not in run.record.to_dict()

    @pytest.mark.parametrize("seeds", [0, -1, 2.5, True, "3"])
    def test_a_number_of_seeds_that_is_none_is_refused(self, short: Any, graph: Graph, seeds: Any) -> None:
        with pytest.raises(ConfigError, match="seeds must be a whole number of at least 1"):
            short(graph, "transe", seeds=seeds)

    def test_the_weight_of_the_regularizer_is_chosen_once(
        self, short: Any, graph: Graph, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []
        monkeypatch.setattr("itransf.run.opening.choose_weight", lambda graph, config, *_: asked.append(1) or config)
        run = short(graph, "distmult", "loss.name=cross_entropy", "regularizer.weight=0.1", seeds=2)
        assert len({member.config.regularizer.weight for member in run.members}) == 1
        assert len(asked) == 3  # once for all, then there is nothing to choose

    def test_a_failed_beginning_leaves_no_folder(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        with pytest.raises(ITransFError):
            short(graph, "transe", "warm_start.run=nowhere", seeds=2, out=tmp_path / "new")
        assert not (tmp_path / "new").exists()


class TestResuming:
    @pytest.mark.parametrize("checkpoints", [2, 5])  # in the first member, in the second
    def test_an_ensemble_cut_short_goes_on_to_the_same_bits(
        self, short: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoints: int
    ) -> None:
        settings, path = ("transe", "model.dim=6", "checkpoint.epochs=1"), tmp_path / "e"
        written = list[Path]()

        class Fragile(FragileFolder):
            """Falls over after so many checkpoints of all members."""

            def write_checkpoint(self, tensors: Any, meta: Any) -> None:
                super().write_checkpoint(tensors, meta)
                written.append(self.path)
                if len(written) == checkpoints:
                    raise InterruptionError

        with monkeypatch.context() as patch:
            patch.setattr("itransf.run.opening.RunFolder", Fragile)
            with pytest.raises(InterruptionError):
                short(graph, *settings, seeds=3, seed=7, out=path)
        finished = [member.name for member in RunFolder(path).members if "model.safetensors" in RunFolder(member).files]
        assert finished == (["seed-7"] if checkpoints == 5 else [])
        with pytest.raises(RunError, match=r"has not ended; .*--seeds 3 --resume.*/e/seed-7"):
            open_run(path, device="cpu")
        assert judge_state(path) == "unfinished"
        with pytest.raises(RunError, match=r"already holds an ensemble; resume it \(--seeds N --resume"):
            short(graph, *settings, seeds=3, seed=7, out=path)
        resumed = short(graph, *settings, seeds=3, seed=7, out=path, resume=True)
        unbroken = short(graph, *settings, seeds=3, seed=7)
        for run in (resumed, open_run(path, device="cpu")):
            for member, wanted in zip(run.members, unbroken.members, strict=True):
                assert same_weights(member, wanted)

    def test_an_interrupt_after_the_last_batch_of_a_seed_starts_no_other(
        self, short: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def describe(report: EpochReport, phase: str) -> dict[str, Any]:
            signal.raise_signal(signal.SIGINT)
            return describe_epoch(report, phase)

        settings = ("transe", "training.epochs=1", "warm_start.epochs=0")
        with monkeypatch.context() as patch:
            patch.setattr("itransf.fitting.describe_epoch", describe)
            with pytest.raises(KeyboardInterrupt):
                short(graph, *settings, seeds=2, out=tmp_path / "e")
            assert short(graph, *settings).is_interrupted
            with pytest.raises(KeyboardInterrupt):
                compare(graph, ["transe"], settings[1:], out=tmp_path / "c", device="cpu", progress=False)
        assert open_run(tmp_path / "e" / "seed-0", device="cpu").unfinished is None
        assert not (tmp_path / "e" / "seed-1").exists()
        assert len(short(graph, *settings, seeds=2, out=tmp_path / "e", resume=True).members) == 2

    def test_other_settings_seeds_or_triples_are_refused(
        self, short: Any, graph: Graph, random_graph: GraphMaker, place: Path
    ) -> None:
        with pytest.raises(RunError, match=r"model\.dim: 4 then, 6 now"):
            short(graph, "itransf", "model.dim=6", seed=4, seeds=3, out=place, resume=True)
        with pytest.raises(RunError, match="seed: 4 then, 9 now"):
            short(graph, "itransf", seed=9, seeds=3, out=place, resume=True)
        with pytest.raises(RunError, match="other triples"):
            short(random_graph(entities=13), "itransf", seed=4, seeds=3, out=place, resume=True)
        open_ensemble(place)

    def test_missing_and_more_members_are_trained(self, short: Any, graph: Graph, place: Path) -> None:
        before = open_ensemble(place)
        shutil.rmtree(place / "seed-4")
        with pytest.raises(RunError, match="its member seed-4 is missing"):
            open_run(place)
        assert (judge_state(place), judge_state(place / "seed-5")) == ("damaged", "finished")
        short(graph, "itransf", seed=4, seeds=4, out=place, resume=True)
        after = open_ensemble(place)
        assert [member.config.seed for member in after.members] == [4, 5, 6, 7]
        assert all(same_weights(*pair) for pair in zip(before.members, after.members, strict=False))
        assert after.members[0].record.id != before.members[0].record.id
        assert after.members[1].record.id == before.members[1].record.id

    def test_without_its_seeds_it_is_refused(self, short: Any, graph: Graph, place: Path) -> None:
        with pytest.raises(RunError, match="already holds an ensemble"):
            short(graph, "itransf", out=place, resume=True)

    def test_a_single_run_is_not_made_an_ensemble(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, "transe", out=tmp_path / "run")
        with pytest.raises(RunError, match="already holds a run"):
            short(graph, "transe", seeds=2, out=tmp_path / "run", resume=True)
        assert same_weights(open_run(tmp_path / "run", device="cpu"), run)


class TestOverwriting:
    def test_old_members_and_single_runs_are_replaced(self, short: Any, graph: Graph, place: Path) -> None:
        (place / "mine.txt").write_text("precious")
        short(graph, "transe", seeds=2, out=place, overwrite=True)
        assert sorted(path.name for path in place.iterdir()) == ["mine.txt", "run.json", "seed-0", "seed-1"]
        assert {member.config.name for member in open_ensemble(place).members} == {"transe"}
        short(graph, "transe", out=place, overwrite=True)
        assert open_run(place, device="cpu").members == ()
        short(graph, "transe", seeds=2, out=place, overwrite=True)
        assert len(open_ensemble(place).members) == 2
        assert not (place / "model.safetensors").exists()

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.parametrize("operation", ["save an ensemble", "save a run", "clear"])
    def test_killed_at_any_file_operation_it_can_be_replaced(
        self, made: Path, short: Any, graph: Graph, tmp_path: Path, operation: str
    ) -> None:
        run = short(graph, "transe", seeds=1 if operation == "save a run" else 2)

        def act(work: Path) -> None:
            if operation == "clear":
                RunFolder(work / "e").clear()
            else:
                run.save(work / "e", overwrite=True)

        (tmp_path / "base").mkdir()
        shutil.copytree(made, tmp_path / "base" / "e")
        work = tmp_path / "work"
        for at in range(1, count_operations(tmp_path / "base", work, act) + 1, 7):
            restore(tmp_path / "base", work)
            in_process(lambda at=at: (Fault(work, at), act(work)))
            RunFolder(work / "e").check_free(overwrite=True)
            run.save(work / "e", overwrite=True)
            assert same_weights(open_run(work / "e", device="cpu"), run)

    def test_a_single_run_in_place_of_an_ensemble_leaves_no_members(
        self, short: Any, graph: Graph, place: Path
    ) -> None:
        short(graph, "transe", out=place, overwrite=True)
        assert [path for path, _ in find_runs(place)[0]] == [place]
        assert open_run(place, device="cpu").members == ()

    def test_something_else_is_left_alone(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        (tmp_path / "seed-0").mkdir()
        (tmp_path / "thesis.tex").write_text("x")
        for options in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(RunError, match="is not a run"):
                short(graph, "transe", seeds=2, out=tmp_path, **options)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["seed-0", "thesis.tex"]


class TestSaving:
    def test_an_ensemble_in_memory_is_saved_and_opened(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, "transe", seeds=2)
        run.save(tmp_path / "e")
        opened = open_ensemble(tmp_path / "e")
        assert all(same_weights(*pair) for pair in zip(opened.members, run.members, strict=True))
        triples = [torch.from_numpy(column) for column in graph.test.T]
        assert torch.equal(opened.model.score(*triples), run.model.score(*triples))
        assert opened.record == run.record
        with pytest.raises(RunError, match="already holds an ensemble"):
            run.save(tmp_path / "e")
        run.save(tmp_path / "e", overwrite=True)

    def test_labels_are_stored_with_every_member(self, place: Path) -> None:
        run = open_ensemble(place)
        run.label({"e0": "zero"}, place)
        assert run.graph.entities.label(0) == "zero"
        assert {member.graph.entities.label(0) for member in open_ensemble(place).members} == {"zero"}
        assert open_run(place / "seed-6", device="cpu").graph.entities.label(0) == "zero"


class TestDamage:
    def test_another_run_in_the_place_of_a_member_is_noticed(self, short: Any, graph: Graph, place: Path) -> None:
        short(graph, "itransf", seed=5, out=place / "seed-5", overwrite=True)
        with pytest.raises(RunError, match="its member seed-5 is another run"):
            open_run(place)
        with pytest.raises(RunError, match="its member seed-5 is another run"):
            RunFolder(place).verify()

    def test_a_member_that_is_an_ensemble_is_refused(self, place: Path) -> None:
        """Even one that would hold itself."""
        record = read_manifest(place).record
        shutil.rmtree(place / "seed-5")
        (place / "seed-5").symlink_to(place, target_is_directory=True)
        members = (record.members[0], record.id, record.members[2])
        write_manifest(place, Manifest(replace(record, members=members)))
        with pytest.raises(RunError, match="its member seed-5 is another run"):
            open_run(place)

    def test_a_damaged_member_is_named(self, place: Path) -> None:
        (place / "seed-5" / "config.toml").write_text("seed = 5")
        for act in (open_run, lambda path: RunFolder(path).verify(), seal):
            with pytest.raises(CheckpointError, match=r"seed-5/config\.toml: does not match its checksum"):
                act(place)

    def test_a_damaged_manifest_is_noticed(self, place: Path) -> None:
        text = (place / "run.json").read_text()
        (place / "run.json").write_text(text.replace('"seed": 4', '"seed": 5'))
        with pytest.raises(CheckpointError, match="does not match its checksum"):
            open_run(place)
        (place / "run.json").write_text(text.replace('"members": [', '"members": [3, '))
        with pytest.raises(CheckpointError, match="wrong value for 'members'"):
            open_run(place)
        (place / "run.json").write_text(text.replace('"seed": 4', f'"seed": {10**300}'))
        with pytest.raises(CheckpointError, match="wrong value for 'seed'"):
            open_run(place)

    def test_members_of_other_triples_or_seeds_are_refused(
        self, short: Any, graph: Graph, random_graph: GraphMaker
    ) -> None:
        other = random_graph(entities=12, relations=3, train=29, valid=8, test=8)
        with pytest.raises(RunError, match="seed-1: has other triples than seed-0"):
            EnsembleRun([short(graph, "transe"), short(other, "transe", seed=1)])
        with pytest.raises(RunError, match=r"seed-2: .* seeds leave a gap"):
            EnsembleRun([short(graph, "transe"), short(graph, "transe", seed=2)])

    def test_an_ensemble_as_it_is_can_be_sealed(self, place: Path) -> None:
        assert seal(place) == []
        assert len(open_ensemble(place).members) == 3

    def test_a_member_whose_training_goes_on_makes_it_unfinished(self, place: Path) -> None:
        RunFolder(place / "seed-5").commit(drop=["model.safetensors"])
        assert open_ensemble(place).unfinished is not None


class TestReading:
    def test_concepts_are_those_of_the_most_similar_member(self, made: Path) -> None:
        run = open_ensemble(made)
        chosen, found = align_concepts([member.concepts() for member in run.members])
        attention = run.concepts()
        assert run.chosen is run.members[chosen]
        np.testing.assert_array_equal(attention.weights, run.members[chosen].concepts().weights)
        assert (attention.found, attention.seeds) == (found, 3)
        content = attention.to_dict()
        assert (content["found"], content["seeds"]) == (list(found), 3)
        for card in run.cards():
            assert (card.found, card.seeds) == (found[card.concept], 3)
            assert ("found in", f"{card.found} of 3 seeds") in card.describe()
            assert card.to_dict()["found"] == card.found
        single = run.members[0]
        assert not {"found", "seeds"} & {*single.concepts().to_dict(), *single.cards()[0].to_dict()}

    def test_an_explanation_says_which_seed_it_is_about_and_who_agrees(self, made: Path) -> None:
        run = open_ensemble(made)
        for side in ("tail", "head"):
            found, alone = (each.explain("e0", "r0", "e5", side=side) for each in (run, run.chosen))
            (predicted,) = [
                each
                for each in run.predict(
                    **{"head": {"tail": "e5"}, "tail": {"head": "e0"}}[side], relation="r0", top=12, include_known=True
                )
                if (each.head, each.tail) == ("e0", "e5")
            ]
            assert found.agreement == predicted.agreement
            assert found.score == alone.score
            assert f"explains seed {run.chosen.config.seed}; {found.agreement.agree} of 3 seeds rank" in found.sentence
            assert found.to_dict()["seed"] == run.chosen.config.seed
            assert found.sharing is not None
            for shared in found.sharing["relation" if "relation" in found.sharing else side]:
                assert (shared.found, shared.seeds) == (run.concepts().found[shared.concept], 3)
                assert f", found in {shared.found} of 3 seeds: " in shared.describe()
                assert shared.to_dict()["found"] == shared.found
            assert all("found" not in shared for part in alone.to_dict()["sharing"].values() for shared in part)
            assert "seed" not in alone.to_dict()

    def test_a_report_has_the_metrics_of_all_and_the_concepts_of_one(self, made: Path, tmp_path: Path) -> None:
        run = open_ensemble(made)
        text = run.report(tmp_path / "r.html").read_text()
        assert "ensemble of 3 seeds" in text
        assert f"{run.evaluate()['mrr']:.3f}" in text
        assert f"Found in {run.cards()[0].found} of 3 seeds." in text
        assert "ensemble" not in run.chosen.report(tmp_path / "s.html").read_text()

    @pytest.mark.parametrize(
        "act",
        [
            lambda run: run.learn_relation("new", [("e0", "e1")]),
            lambda run: run.learn_entity("new", [("e0", "r0", "new")]),
            lambda run: run.edit(prune=2),
            lambda run: run.refit(1),
            lambda run: run.export("nowhere"),
            lambda run: run.name_concepts({0: "x"}),
        ],
    )
    def test_what_changes_a_model_is_done_with_a_member(self, made: Path, act: Any) -> None:
        run = open_ensemble(made)
        with pytest.raises(ConfigError, match=f"is an ensemble of 3 seeds; .*such as {run.locate(run.chosen)}"):
            act(run)

    def test_a_model_without_concepts_is_read_from_the_first_seed(self, short: Any, graph: Graph) -> None:
        run = short(graph, "transe", seeds=2)
        assert run.chosen is run.members[0]
        assert not run.has_concepts
        with pytest.raises(ConfigError, match="TransE has no concepts"):
            run.concepts()
        assert run.relation("r0").to_dict() == run.members[0].relation("r0").to_dict()
        assert repr(run) == "EnsembleRun(2 seeds of transe on numbers)"
