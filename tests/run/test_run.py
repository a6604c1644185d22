from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import itransf
from comparing import same_weights
from itransf.data.graph import Graph
from itransf.errors import CheckpointError, ConfigError, DataError, RunError, WriteError
from itransf.evaluation import evaluate
from itransf.interpret import explain, export, make_cards
from itransf.models import MODELS, ConceptModel
from itransf.prediction import complete, score_triples
from itransf.run import Run, open_run, train
from itransf.storage import RunFolder
from itransf.teaching import learn_entity, learn_relation
from sealing import put

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=30, valid=8, test=8).labelled({"e0": "Zero"})


OFFERED: dict[str, Callable[..., Any]] = {
    "evaluate": evaluate,
    "predict": complete,
    "score": score_triples,
    "explain": explain,
    "cards": make_cards,
    "learn_relation": learn_relation,
    "learn_entity": learn_entity,
    "export": export,
}
KNOWN_TO_A_RUN = {"model", "graph", "config", "attention", "names"}


class TestUse:
    @pytest.mark.parametrize("method", OFFERED)
    def test_methods_name_all_that_can_be_asked_for(self, method: str) -> None:
        wanted = inspect.signature(OFFERED[method]).parameters
        offered = dict(inspect.signature(getattr(Run, method)).parameters)
        del offered["self"]
        assert [name for name in wanted if name not in KNOWN_TO_A_RUN] == list(offered)
        for name, parameter in offered.items():
            assert parameter.default == wanted[name].default

    def test_a_run_can_be_asked(self, short: Any, graph: Graph) -> None:
        run = short(graph)
        assert repr(run) == "Run(itransf on numbers: 3 epochs)"
        assert 0 < run.evaluate()["mrr"] <= 1
        assert run.evaluate("valid", ties="optimistic").ties == "optimistic"
        found = run.predict(head="Zero", relation="r1", top=3)
        assert [prediction.head for prediction in found] == ["e0"] * 3
        assert [line.head for line in run.score([("e1", "r0", "e2")])] == ["e1"]
        assert run.concepts().weights.shape == (2, 3, 5)

    def test_the_model_is_ready_for_use(self, short: Any, graph: Graph) -> None:
        assert not short(graph).model.training

    @pytest.mark.parametrize("name", [name for name in MODELS if not issubclass(MODELS[name], ConceptModel)])
    def test_other_models_have_no_concepts(self, short: Any, graph: Graph, name: str) -> None:
        with pytest.raises(ConfigError, match=f"model {MODELS[name].__name__} has no concepts"):
            short(graph, name).concepts()

    def test_info_tells_what_the_run_is(self, short: Any, graph: Graph) -> None:
        info = short(graph, "transe", "training.epochs=4", "warm_start.epochs=0").info()
        assert (info["model"], info["graph"], info["entities"], info["relations"]) == (
            "transe",
            "numbers",
            12,
            3,
        )
        assert info["triples"] == {"train": 30, "valid": 8, "test": 8}
        assert info["parameters"] == (12 + 3) * 4
        assert info["epochs"] == 4
        assert set(info["best"]) == {"phase", "epoch", "mrr"}
        assert info["config"]["model"]["name"] == "transe"

    def test_info_counts_the_warm_start_apart_and_knows_no_best_without_looks(self, short: Any, graph: Graph) -> None:
        info = short(graph, "stranse", "warm_start.epochs=2", "validation.every=0").info()
        assert (info["epochs"], info["best"]) == (3, None)

    def test_a_path_is_loaded(self, configure: Configure, tmp_path: Path) -> None:
        (tmp_path / "train.txt").write_text("a\tlikes\tb\nb\tlikes\tc\nc\tlikes\ta\n")
        (tmp_path / "valid.txt").write_text("a\tlikes\tc\n")
        (tmp_path / "test.txt").write_text("b\tlikes\ta\n")
        run = train(tmp_path, config=configure("transe").to_dict(), device="cpu", progress=False)
        assert len(run.graph.entities) == 3

    def test_a_path_that_is_not_there_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="none"):
            train(tmp_path / "none", progress=False)


def test_triples_in_memory_can_be_trained_on(configure: Configure) -> None:
    triples = [(f"e{head}", "r", f"e{tail}") for head in range(10) for tail in range(10)]
    run = train(triples, config=configure("transe", "training.epochs=1"), device="cpu", progress=False)
    assert len(run.graph.train) + len(run.graph.valid) + len(run.graph.test) == 100
    assert min(len(run.graph.valid), len(run.graph.test)) > 0


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_training_works_with_gradients_off_outside(mode: Any, configure: Configure, graph: Graph) -> None:
    config = configure("itransf", "training.epochs=2", "warm_start.epochs=1")
    with mode():
        inside = train(graph, config=config, device="cpu", progress=False)
    assert same_weights(inside, train(graph, config=config, device="cpu", progress=False))


class TestNaming:
    """Names and labels are kept in the run's own folder, and in no other."""

    @pytest.fixture
    def runs(self, short: Any, graph: Graph, random_graph: GraphMaker, tmp_path: Path) -> tuple[Run, Path]:
        run = short(graph)
        run.save(tmp_path / "own")
        short(graph, "itransf", "model.concepts=6").save(tmp_path / "size")
        short(random_graph(entities=11, relations=3, train=30, valid=8, test=8)).save(tmp_path / "graph")
        return run, tmp_path

    def test_its_own_folder(self, runs: tuple[Run, Path]) -> None:
        run, folder = runs
        run.name_concepts({1: "first"}, folder / "own")
        run.label({"e1": "One"}, folder / "own")
        opened = open_run(folder / "own", device="cpu")
        assert (opened.concept_names, opened.graph.entities.label(1)) == ({1: "first"}, "One")

    @pytest.mark.parametrize("other", ["size", "graph"])
    def test_another_runs_folder(self, runs: tuple[Run, Path], other: str) -> None:
        run, folder = runs
        before = {path.name: path.read_bytes() for path in (folder / other).iterdir()}
        with pytest.raises(RunError, match=f"{other}: holds another run"):
            run.name_concepts({1: "first"}, folder / other)
        with pytest.raises(RunError, match=f"{other}: holds another run"):
            run.label({"e1": "One"}, folder / other)
        assert (run.concept_names, run.graph.entities.label(1)) == ({}, "e1")
        assert {path.name: path.read_bytes() for path in (folder / other).iterdir()} == before


class TestSaving:
    @pytest.mark.parametrize("name", list(MODELS))
    def test_a_run_comes_back_as_it_was(self, short: Any, graph: Graph, name: str, tmp_path: Path) -> None:
        run = short(graph, name)
        run.save(tmp_path / "run")
        opened = open_run(tmp_path / "run", device="cpu")
        assert same_weights(run, opened)
        assert opened.config == run.config
        assert opened.history == run.history
        assert opened.graph.entities == graph.entities
        assert opened.evaluate().to_dict()["filtered"] == run.evaluate().to_dict()["filtered"]

    def test_training_into_a_folder_is_the_same_as_saving(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, out=tmp_path / "run")
        opened = open_run(tmp_path / "run", device="cpu")
        assert same_weights(run, opened)
        assert opened.history == run.history
        assert same_weights(run, short(graph))

    def test_a_folder_in_use_is_refused_and_left_alone(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, out=tmp_path / "run")
        for attempt in (
            lambda: short(graph, "transe", out=tmp_path / "run"),
            lambda: run.save(tmp_path / "run"),
        ):
            with pytest.raises(CheckpointError, match=r"already holds a run.*--resume.*--overwrite"):
                attempt()
        assert same_weights(open_run(tmp_path / "run", device="cpu"), run)

    def test_overwriting_replaces_all_of_a_run(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        short(graph, "itransf", out=tmp_path / "run").name_concepts({0: "first"}, tmp_path / "run")
        short(graph, "transe", out=tmp_path / "run", overwrite=True)
        opened = open_run(tmp_path / "run", device="cpu")
        assert (opened.config.name, opened.concept_names) == ("transe", {})

    def test_overwriting_leaves_other_folders_alone(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("x")
        with pytest.raises(CheckpointError, match="is not a run"):
            short(graph, out=tmp_path, overwrite=True)
        assert (tmp_path / "thesis.tex").read_text() == "x"

    @pytest.mark.parametrize("mistake", [{"seed": -1}, {"preset": "nothing/here"}, {"device": "tpu"}])
    def test_overwriting_removes_nothing_when_something_else_is_wrong(
        self, short: Any, graph: Graph, tmp_path: Path, mistake: dict[str, Any]
    ) -> None:
        run = short(graph, out=tmp_path / "run")
        with pytest.raises(ConfigError):
            short(graph, out=tmp_path / "run", overwrite=True, **mistake)
        assert same_weights(open_run(tmp_path / "run", device="cpu"), run)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import itransf, sys; print([name for name in ('torch', 'numpy', 'pyarrow') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_public_names_lead_to_the_same_things() -> None:
    assert itransf.train is train
    assert itransf.open is open_run
    assert itransf.Run is Run


@pytest.fixture
def saved(random_graph: Callable, short: Callable, tmp_path: Path) -> Path:
    short(random_graph(), "itransf", out=tmp_path / "run")
    return tmp_path / "run"


def reopen(path: Path) -> Run:
    return itransf.open(path, device="cpu")


def test_names_stay_with_the_folder_through_saving_opening_and_copying(saved: Path, tmp_path: Path) -> None:
    assert not (saved / "concepts.json").exists()
    reopen(saved).name_concepts({3: " lies  in ", 0: "city"}, saved)
    run = reopen(saved)
    assert run.concept_names == {0: "city", 3: "lies in"}
    run.save(tmp_path / "again")
    shutil.copytree(saved, tmp_path / "copy")
    for folder in ("again", "copy"):
        assert reopen(tmp_path / folder).concept_names == {0: "city", 3: "lies in"}


def test_without_a_folder_names_are_kept_by_saving(saved: Path, tmp_path: Path) -> None:
    run = reopen(saved)
    run.name_concepts({1: "city"})
    assert reopen(saved).concept_names == {}
    run.save(tmp_path / "again")
    assert reopen(tmp_path / "again").concept_names == {1: "city"}


def test_an_empty_name_takes_one_back_and_the_last_takes_the_file(saved: Path) -> None:
    run = reopen(saved)
    run.name_concepts({1: "city", 2: "state"}, saved)
    run.name_concepts({1: ""}, saved)
    assert reopen(saved).concept_names == {2: "state"}
    run.name_concepts({2: " "}, saved)
    assert not (saved / "concepts.json").exists()


def test_training_that_goes_on_keeps_names(random_graph: Callable, short: Callable, tmp_path: Path) -> None:
    graph, out = random_graph(), tmp_path / "run"
    short(graph, "itransf", "checkpoint.epochs=1", out=out)
    reopen(out).name_concepts({1: "city"}, out)
    run = short(graph, "itransf", "checkpoint.epochs=1", "training.epochs=4", out=out, resume=True)
    assert run.concept_names == reopen(out).concept_names == {1: "city"}


def test_what_cannot_be_named_is_refused_and_nothing_is_written(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no concept 5"):
        reopen(saved).name_concepts({1: "city", 5: "x"}, saved)
    with pytest.raises(ConfigError, match=r"concept 1 .*'17'"):
        reopen(saved).name_concepts({1: " 17 "}, saved)
    assert not (saved / "concepts.json").exists()
    with pytest.raises(CheckpointError, match="there is no such run"):
        reopen(saved).name_concepts({1: "city"}, tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["{", "[]", '{"names": []}', '{"names": {"x": "y"}}', '{"names": {"1": 2}}'])
def test_a_damaged_file_is_named(content: str, saved: Path) -> None:
    put(saved / "concepts.json", content)
    with pytest.raises(CheckpointError, match=r"concepts\.json"):
        reopen(saved)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match="cannot be written"):
        RunFolder(tmp_path / "file").stage_concept_names({1: "city"})


def test_a_run_tells_cards_and_sharing(saved: Path) -> None:
    run = reopen(saved)
    run.name_concepts({1: "city"})
    assert run.cards([1])[0].name == "city"
    graph = run.sharing()
    assert [member.rare for member in graph.members] == [False, False, True]


class TestIdentity:
    """A run folder knows what it holds, and what it came from."""

    def test_it_is_kept_by_saving_opening_and_resuming(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, "transe", "seed=3", out=tmp_path / "run")
        assert (run.record.seed, run.record.model, run.record.parent) == (3, "transe", None)
        assert run.record.seconds > 0
        run.save(tmp_path / "copy")
        for folder in ("run", "copy"):
            assert open_run(tmp_path / folder, device="cpu").record == run.record
        longer = short(graph, "transe", "seed=3", "training.epochs=4", out=tmp_path / "run", resume=True)
        assert (longer.record.id, longer.record.created) == (run.record.id, run.record.created)
        assert short(graph, "transe", "seed=3").record.id != run.record.id

    def test_a_run_made_of_another_names_its_parent(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, out=tmp_path / "run")
        learned = run.learn_relation("new", [("e0", "e1")])
        refitted = run.edit(merge=[(0, 1)]).refit(1)  # what was edited was never stored
        for made in (learned, refitted):
            assert made.record.parent == run.record.id
            assert made.record.id != run.record.id
        learned.save(tmp_path / "learned")
        again = open_run(tmp_path / "learned", device="cpu")
        assert again.learn_entity("one", [("one", "r0", "e1")]).record.parent == learned.record.id
        assert again.record.data_hash != run.record.data_hash

    def test_final_metrics_are_kept(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        run = short(graph, out=tmp_path / "run")
        found = run.evaluate("test")
        run.record_metrics(found, tmp_path / "run")
        opened = open_run(tmp_path / "run", device="cpu")
        assert opened.info()["metrics"]["test"]["mrr"] == found["mrr"]
        assert opened.info()["metrics"]["valid"] == opened.info()["best"] == run.info()["best"]
        longer = short(graph, "itransf", "training.epochs=4", out=tmp_path / "run", resume=True)
        assert "test" not in longer.record.metrics

    @pytest.mark.parametrize("split", ["train", "valid"])
    def test_only_metrics_of_test_are_recorded(self, short: Any, graph: Graph, split: str, tmp_path: Path) -> None:
        run = short(graph, out=tmp_path / "run")
        with pytest.raises(ConfigError, match=f"metrics of test, not of {split}"):
            run.record_metrics(run.evaluate(split), tmp_path / "run")
        assert open_run(tmp_path / "run", device="cpu").record == run.record
