from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from comparing import same_weights
from itransf.config import Config
from itransf.data.graph import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.errors import CheckpointError, ConfigError, ITransFError, RunError
from itransf.files import lock
from itransf.prediction import Calibration
from itransf.records import WEIGHTS
from itransf.run import open_run, train, train_final
from itransf.run.opening import check_same
from itransf.storage import RunFolder
from itransf.training.trainer import weights
from sealing import put, put_tensors
from training.interruption import FragileFolder, InterruptionError

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=30, valid=8, test=8)


def stop_after(monkeypatch: pytest.MonkeyPatch, checkpoints: int) -> None:
    """Let training fall over after so many checkpoints."""
    monkeypatch.setattr("itransf.run.opening.RunFolder", lambda path: FragileFolder(path, checkpoints))


class TestResuming:
    @pytest.mark.parametrize("checkpoints", [1, 4, 9])
    def test_a_run_cut_short_goes_on_to_the_same_bits(
        self, short: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoints: int
    ) -> None:
        settings = ("itransf", "warm_start.epochs=2", "assignment.every=1", "checkpoint.minutes=1e-9")
        with monkeypatch.context() as patch:
            stop_after(patch, checkpoints)
            with pytest.raises(InterruptionError):
                short(graph, *settings, out=tmp_path / "run")
        resumed = short(graph, *settings, out=tmp_path / "run", resume=True)
        unbroken = short(graph, *settings)
        assert same_weights(resumed, unbroken)
        assert same_weights(open_run(tmp_path / "run", device="cpu"), unbroken)

    def test_with_nothing_saved_it_starts(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        assert same_weights(short(graph, out=tmp_path / "run", resume=True), short(graph))

    def test_other_settings_or_triples_are_refused(
        self, short: Any, graph: Graph, random_graph: GraphMaker, tmp_path: Path
    ) -> None:
        short(graph, out=tmp_path / "run")
        with pytest.raises(RunError, match=r"model\.dim: 4 then, 6 now"):
            short(graph, "itransf", "model.dim=6", out=tmp_path / "run", resume=True)
        with pytest.raises(RunError, match="other triples"):
            short(random_graph(entities=13), out=tmp_path / "run", resume=True)

    def test_more_epochs_are_kept_in_the_runs_config(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        short(graph, "transe", "training.epochs=2", out=tmp_path / "run")
        short(graph, "transe", "training.epochs=5", out=tmp_path / "run", resume=True)
        opened = open_run(tmp_path / "run", device="cpu")
        assert opened.config.training.epochs == 5
        assert [line["epoch"] for line in opened.history] == [1, 2, 3, 4, 5]

    def test_a_saved_run_without_a_checkpoint_is_not_trained_over(
        self, short: Any, graph: Graph, tmp_path: Path
    ) -> None:
        """Resuming may start only where nothing was saved."""
        run = short(graph, "itransf", "seed=3")
        run.save(tmp_path / "run")
        with pytest.raises(RunError, match=r"without a checkpoint.*overwrite"):
            short(graph, "transe", out=tmp_path / "run", resume=True)
        assert same_weights(open_run(tmp_path / "run", device="cpu"), run)

    def test_a_folder_of_something_else_is_not_taken_over(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_text("mine = true\n")
        (tmp_path / "thesis.tex").write_text("x")
        for options in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(RunError, match=r"is not a run.*choose another folder"):
                short(graph, out=tmp_path, **options)
        assert (tmp_path / "config.toml").read_text() == "mine = true\n"


class TestTelling:
    def test_what_is_trained_is_said_once(self, short: Any, graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
        short(graph, "transe", progress=True)
        (plan,) = re.findall("^Plan: .*", capsys.readouterr().err, re.MULTILINE)
        assert plan.startswith("Plan: transe, dimension 4; 3 epochs in batches of ")
        short(graph, "transe", progress=True, seeds=2)
        (plan,) = re.findall("^Plan: .*", capsys.readouterr().err, re.MULTILINE)
        assert plan.startswith("Plan: 2 seeds of transe, dimension 4; 3 epochs in batches of ")
        short(graph, "transe", seeds=2)
        assert not capsys.readouterr().err

    def test_a_resumed_run_has_its_new_limits(
        self, short: Any, graph: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        short(graph, "transe", out=tmp_path / "run")
        train(graph, settings=["training.epochs=5"], out=tmp_path / "run", resume=True, device="cpu")
        assert "Plan: transe, dimension 4; 5 epochs" in capsys.readouterr().err


class TestOpening:
    def interrupt(self, short: Any, graph: Graph, path: Path, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        with monkeypatch.context() as patch:
            stop_after(patch, after)
            with pytest.raises(InterruptionError):
                short(graph, "stranse", "warm_start.epochs=1", "checkpoint.epochs=1", out=path)

    def test_an_unfinished_run_has_its_best_weights_so_far(
        self, short: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.interrupt(short, graph, tmp_path / "run", monkeypatch, after=4)
        stored, triples = RunFolder(tmp_path / "run").read_checkpoint()
        assert (triples["phase"], triples["progress"]["epoch"]) == ("training", 2)
        opened = open_run(tmp_path / "run", device="cpu")
        for name, tensor in weights(opened.model).items():
            assert torch.equal(tensor, stored[f"best.{name}"]), name
        assert opened.unfinished == triples["progress"]["best_epoch"] > 0
        assert opened.info()["unfinished"] == opened.unfinished
        assert repr(opened).endswith("unfinished)")

    def test_a_run_without_its_model_has_the_last_weights_where_nothing_was_validated(
        self, short: Any, graph: Graph, tmp_path: Path
    ) -> None:
        run = short(graph, "transe", "validation.every=0", out=tmp_path / "run")
        assert open_run(tmp_path / "run", device="cpu").unfinished is None
        RunFolder(tmp_path / "run").commit(drop=[WEIGHTS])
        opened = open_run(tmp_path / "run", device="cpu")
        assert opened.unfinished == 3
        assert same_weights(opened, run)

    def test_a_run_in_its_warm_start_is_marked(
        self, short: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.interrupt(short, graph, tmp_path / "run", monkeypatch, after=1)
        with pytest.raises(CheckpointError, match=r"warm start.*--resume"):
            open_run(tmp_path / "run", device="cpu")

    def test_a_run_that_saved_nothing_is_incomplete(self, graph: Graph, configure: Configure, tmp_path: Path) -> None:
        folder = RunFolder(tmp_path / "run")
        folder.create(graph, configure("transe"))
        with pytest.raises(RunError, match="it has no run"):
            open_run(tmp_path / "run", device="cpu")
        folder.commit()
        with pytest.raises(CheckpointError, match=r"model\.safetensors: .*not complete"):
            open_run(tmp_path / "run", device="cpu")

    def test_weights_that_do_not_fit_are_refused(
        self, short: Any, graph: Graph, configure: Configure, tmp_path: Path
    ) -> None:
        short(graph, "transe", out=tmp_path / "run")
        for other in (configure("transe", "model.dim=9"), configure("stranse")):
            folder = RunFolder(tmp_path / "run")
            folder.stage_config(other)
            folder.commit()
            with pytest.raises(CheckpointError, match="weights do not fit"):
                open_run(tmp_path / "run", device="cpu")

    @pytest.mark.parametrize(
        ("name", "value", "fault"),
        [
            ("entities", float("nan"), "'entities' contain NaN or infinite values"),
            ("project_tail.support", 99, "'project_tail.support' has concept 99"),
        ],
    )
    def test_weights_that_no_training_gives_are_refused(
        self, short: Any, graph: Graph, tmp_path: Path, name: str, value: float, fault: str
    ) -> None:
        short(graph, "itransf", out=tmp_path / "run")
        folder = RunFolder(tmp_path / "run")
        tensors, triples = folder.read_tensors("model.safetensors")
        tensors[name][0, 0] = value
        put_tensors(folder.path, "model.safetensors", tensors, triples)
        with pytest.raises(CheckpointError, match=f"{fault}.*train again"):
            open_run(tmp_path / "run", device="cpu")

    def test_what_is_no_run(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="there is no such run"):
            open_run(tmp_path / "none")


class TestSameness:
    @pytest.fixture
    def config(self, configure: Configure) -> Config:
        return configure("itransf", "training.learning_rate=0.05")

    @pytest.fixture
    def folder(self, tmp_path: Path, graph: Graph, config: Config) -> RunFolder:
        made = RunFolder(tmp_path / "run")
        made.create(graph, config)
        made.commit()
        return made

    def test_the_same_graph_and_settings_go_on(self, folder: RunFolder, graph: Graph, config: Config) -> None:
        check_same(folder, graph, config, folder.read_config())

    def test_other_settings_are_named_with_both_values(
        self, folder: RunFolder, graph: Graph, configure: Configure
    ) -> None:
        other = configure("itransf", "training.learning_rate=0.06", "model.dim=5", "seed=2")
        with pytest.raises(RunError) as caught:
            check_same(folder, graph, other, folder.read_config())
        for part in (
            "model.dim: 4 then, 5 now",
            "seed: 0 then, 2 now",
            "training.learning_rate: 0.05 then, 0.06 now",
        ):
            assert part in str(caught.value)

    def test_another_model_is_named(self, folder: RunFolder, graph: Graph, configure: Configure) -> None:
        with pytest.raises(CheckpointError, match=r"model\.name: 'itransf' .*'transe' "):
            check_same(folder, graph, configure("transe"), folder.read_config())

    def test_how_long_and_how_safely_may_change(self, folder: RunFolder, graph: Graph, configure: Configure) -> None:
        longer = configure(
            "itransf",
            "training.learning_rate=0.05",
            "training.epochs=99",
            "training.max_minutes=3",
            "validation.patience=4",
            "checkpoint.minutes=1",
            "checkpoint.epochs=1",
        )
        check_same(folder, graph, longer, folder.read_config())

    def test_other_triples_or_names_are_refused(self, folder: RunFolder, graph: Graph, config: Config) -> None:
        renamed = Vocabulary(["another", *graph.entities.names[1:]], kind="entity")
        for other in (replace(graph, train=graph.train[:1]), replace(graph, entities=renamed)):
            with pytest.raises(RunError, match="other triples"):
                check_same(folder, other, config, config)


@pytest.fixture
def place(short: Any, graph: Graph, tmp_path: Path) -> Path:
    """A finished run's folder."""
    short(graph, out=tmp_path / "run")
    return tmp_path / "run"


def read_all(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def spoil(folder: Path, how: str) -> None:
    """Make a checkpoint one that cannot be gone on from."""
    name = RunFolder(folder).checkpoints[0]
    tensors, triples = RunFolder(folder).read_tensors(name)
    if how == "cut":
        os.truncate(folder / name, 100)
        return
    if how == "no triples":
        triples = {}
    elif how == "no tensors":
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("model.")}
    elif how == "other shapes":
        tensors = {name: tensor[:1].clone() for name, tensor in tensors.items()}
    elif how == "another device":
        tensors |= {name: torch.zeros(16, dtype=torch.uint8) for name in ("random.now", "random.epoch")}
    put_tensors(folder, name, tensors, triples)


def test_resuming_a_finished_run_keeps_its_test_metrics_until_it_is_trained_further(
    short: Any, graph: Graph, tmp_path: Path
) -> None:
    run = short(graph, "transe", "training.epochs=2", out=tmp_path / "run")
    run.record_metrics(run.evaluate(), tmp_path / "run")
    again = short(graph, "transe", "training.epochs=2", out=tmp_path / "run", resume=True)
    assert again.record.metrics == run.record.metrics == open_run(tmp_path / "run", device="cpu").record.metrics
    assert "test" not in short(graph, "transe", "training.epochs=3", out=tmp_path / "run", resume=True).record.metrics


class TestDamagedCheckpoints:
    @pytest.mark.parametrize("how", ["cut", "no triples", "no tensors", "other shapes", "another device"])
    def test_a_checkpoint_that_cannot_be_used_costs_nothing(
        self, short: Any, graph: Graph, place: Path, how: str
    ) -> None:
        spoil(place, how)
        before = read_all(place)
        with pytest.raises(CheckpointError, match="checkpoint"):
            short(graph, "itransf", "training.epochs=9", out=place, resume=True)
        assert read_all(place) == before
        open_run(place, device="cpu")

    def test_averages_are_what_an_unfinished_run_is_opened_with(self, short: Any, graph: Graph, place: Path) -> None:
        settings = (
            "transe",
            "training.weight_averaging=1",
            "training.epochs=3",
            "validation.every=0",
            "model.entity_constraint=unit",
        )
        run = short(graph, *settings, out=place, overwrite=True)
        RunFolder(place).commit(drop=[WEIGHTS])
        opened = open_run(place, device="cpu")
        assert opened.unfinished == 3
        assert torch.equal(weights(opened.model)["entities"], weights(run.model)["entities"])


class TestOverwriting:
    @pytest.mark.parametrize("settings", ["warm_start.run=nowhere", "training.max_minutes=1"])
    def test_a_training_that_fails_at_once_brings_the_old_run_back(
        self, short: Any, graph: Graph, place: Path, monkeypatch: pytest.MonkeyPatch, settings: str
    ) -> None:
        def fail(*_: object) -> None:
            raise ConfigError("no")

        before = read_all(place)
        if "minutes" in settings:
            monkeypatch.setattr("itransf.fitting.build_model", fail)
        with pytest.raises(ITransFError):
            short(graph, "transe", settings, out=place, overwrite=True)
        assert read_all(place) == before

    def test_files_of_others_stay(self, short: Any, graph: Graph, place: Path) -> None:
        (place / "triples.tsv").write_text("mine")
        short(graph, "transe", out=place, overwrite=True)
        assert (place / "triples.tsv").read_text() == "mine"
        assert open_run(place, device="cpu").config.name == "transe"
        RunFolder(place).clear()
        assert [path.name for path in place.iterdir()] == ["triples.tsv"]

    def test_a_file_of_settings_is_not_a_run(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_text("# mine")
        for options in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(RunError, match="is not a run"):
                short(graph, out=tmp_path, **options)
        assert read_all(tmp_path) == {"config.toml": b"# mine"}

    def test_a_failed_beginning_leaves_no_folder(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        with pytest.raises(ITransFError):
            short(graph, "transe", "warm_start.run=nowhere", out=tmp_path / "new")
        assert not (tmp_path / "new").exists()


class TestTwoAtOnce:
    def test_a_folder_in_which_somebody_trains_is_refused(self, short: Any, graph: Graph, place: Path) -> None:
        before = read_all(place)
        with RunFolder(place).locked():
            for options in ({"resume": True}, {"overwrite": True}):
                with pytest.raises(RunError, match="another training"):
                    short(graph, out=place, **options)
        assert read_all(place) == before
        short(graph, "transe", out=place, overwrite=True)

    def test_a_lock_is_had_once_and_gone_afterwards(self, tmp_path: Path) -> None:
        path = tmp_path / "lock"
        with lock(path) as ours, lock(path) as again:
            assert (ours, again) == (True, False)
        assert not path.exists()
        with lock(path) as ours:
            assert ours


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("tracker", "os:abort"),
        ("tracker", "torch:save"),
        ("optimizer", "shutil:rmtree"),
        ("tracker", "itransf.files:write_text"),
    ],
)
def test_a_run_does_not_choose_what_is_called(short: Any, graph: Graph, place: Path, setting: str, name: str) -> None:
    config = place / "config.toml"
    lines = [
        f'{setting} = "{name}"' if line.startswith(f"{setting} = ") else line
        for line in config.read_text().splitlines()
    ]
    put(config, "\n".join(lines) + "\n")
    with pytest.raises(CheckpointError, match=name):
        open_run(place, device="cpu")


def test_weights_of_a_larger_model_are_refused_before_it_is_built(
    short: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in ("transe", "stranse", "itransf", "distmult", "complex", "ntn"):
        path = tmp_path / model
        short(graph, model, out=path)
        config = path / "config.toml"
        put(config, re.sub(r"\ndim = \d+", "\ndim = 1000000", config.read_text()))
        with pytest.raises(CheckpointError, match=r"do not fit: .*model\.dim"):
            open_run(path, device="cpu")


@pytest.mark.parametrize("seeds", [1, 2])
def test_probabilities_are_fitted_unless_they_are_not_wanted(
    short: Any, random_graph: GraphMaker, tmp_path: Path, seeds: int
) -> None:
    graph = random_graph(entities=20, relations=6, train=160, valid=40, test=40)
    for calibrate in (True, False):
        out = tmp_path / f"{calibrate}"
        runs = [short(graph, calibrate=calibrate, seeds=seeds), short(graph, calibrate=calibrate, seeds=seeds, out=out)]
        for run in (*runs, open_run(out, device="cpu")):
            assert (run.calibration is not None) == calibrate
            answer = run.predict(head=graph.entities.names[0], relation=graph.relations.names[0], top=1, typed=False)
            assert (answer[0].probability is not None) == calibrate


class TestFinal:
    def test_it_sees_all_triples_and_keeps_the_metrics_of_the_run_it_was_chosen_by(
        self, short: Any, graph: Graph, tmp_path: Path
    ) -> None:
        run = short(graph, "transe", "training.epochs=4", "validation.every=1", out=tmp_path / "run")
        best = run.record.metrics["valid"]["epoch"]
        final = train_final(run, out=tmp_path / "final", device="cpu", progress=False)
        for each in (final, open_run(tmp_path / "final", device="cpu")):
            assert (len(each.graph.train), len(each.graph.valid), len(each.graph.test)) == (46, 0, 0)
            assert [line["epoch"] for line in each.history] == list(range(1, best + 1))
            assert each.record.metrics == {**run.record.metrics, "test": run.evaluate().to_dict()["filtered"]["both"]}
            assert (each.record.parent, each.record.final) == (run.record.id, True)
            assert each.calibration == run.calibration
            assert f"all splits with the settings and {best} epochs of run {run.record.id}" in each.graph.notes[-1]
            mrr = run.evaluate()["mrr"]
            for ask in (each.evaluate, each.assess_calibration):
                with pytest.raises(RunError, match=rf"no test triples are left.*MRR {mrr:.3f}.*{run.record.id}"):
                    ask()
            assert each.evaluate("train")["mrr"] > 0
        with pytest.raises(ConfigError, match="final already"):
            train_final(final)

    def test_it_equals_a_training_on_one_split(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, "transe", "training.epochs=2", "validation.every=0", out=tmp_path / "run")
        again = train_final(run, out=tmp_path / "final", device="cpu", progress=False)
        assert same_weights(again, short(graph.merged(), "transe", "training.epochs=2", "validation.every=0"))
        resumed = train_final(run, out=tmp_path / "final", resume=True, device="cpu", progress=False)
        assert same_weights(again, resumed)
        assert resumed.record.metrics == again.record.metrics

    def test_runs_made_of_it_keep_its_metrics_and_calibration(self, short: Any, graph: Graph) -> None:
        final = train_final(short(graph), device="cpu", progress=False)
        final.calibration = Calibration(1.0, (1.0,) * 6, (0.0,) * 6, 0.0, 0.0, 0.0, 50)
        edited = final.edit(forbid=[("r0", "head", 0)])
        relation = final.learn_relation("new", [("e0", "e1")])
        entity = final.learn_entity("new", [("new", "r0", "e1")])
        for made in (edited, edited.refit(1), relation, entity, final.update([("e0", "r0", "new")], epochs=1)):
            assert made.record.final
            assert made.record.metrics == final.record.metrics
            assert made.calibration == final.calibration


def test_a_misspelt_preset_or_model_is_refused_before_the_data_are_read() -> None:
    with pytest.raises(ConfigError, match="no preset 'x/y'"):
        train("no/such/file.csv", preset="x/y", progress=False)
    with pytest.raises(ConfigError, match="no model 'transx'"):
        train("no/such/file.csv", settings=["model.name=transx"], progress=False)
