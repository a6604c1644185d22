from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import itransf
from itransf.data.graph import Graph
from itransf.errors import CheckpointError, ConfigError, DataError, RunError
from itransf.evaluation import evaluate
from itransf.interpret import explain, export, make_cards, write_report
from itransf.models import MODELS
from itransf.prediction import complete, score_triples
from itransf.run import Run, choose_device, open_run, resolve_config, train
from itransf.teaching import learn_entity, learn_relation
from itransf.training.trainer import weights

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=30, valid=8, test=8).labelled({"e0": "Zero"})


def same_weights(left: Run, right: Run) -> bool:
    return all(torch.equal(tensor, weights(right.model)[name]) for name, tensor in weights(left.model).items())


OFFERED: dict[str, Callable[..., Any]] = {
    "evaluate": evaluate,
    "predict": complete,
    "score": score_triples,
    "explain": explain,
    "cards": make_cards,
    "learn_relation": learn_relation,
    "learn_entity": learn_entity,
    "report": write_report,
    "export": export,
}
KNOWN_TO_A_RUN = {"model", "graph", "config", "attention", "names", "info", "history"}


class TestUse:
    @pytest.mark.parametrize("method", OFFERED)
    def test_methods_name_all_that_can_be_asked_for(self, method: str) -> None:
        wanted = inspect.signature(OFFERED[method]).parameters
        offered = dict(inspect.signature(getattr(Run, method)).parameters)
        del offered["self"]
        assert [name for name in wanted if name not in KNOWN_TO_A_RUN] == list(offered)
        for name, parameter in offered.items():
            if name != "path":  # a report has a usual place
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

    @pytest.mark.parametrize("name", [name for name in MODELS if name != "itransf"])
    def test_other_models_have_no_concepts(self, short: Any, graph: Graph, name: str) -> None:
        with pytest.raises(ConfigError, match=f"a {name} model has no concepts"):
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

    def test_a_path_that_is_not_there_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="none"):
            train(tmp_path / "none", progress=False)


def test_triples_in_memory_can_be_trained_on(configure: Configure) -> None:
    triples = [(f"e{number}", "r", f"e{number + 1}") for number in range(30)]
    run = train(triples, config=configure("transe", "training.epochs=1"), device="cpu", progress=False)
    assert len(run.graph.train) + len(run.graph.valid) + len(run.graph.test) == 30
    assert min(len(run.graph.valid), len(run.graph.test)) > 0


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_training_does_not_mind_what_gradients_are_elsewhere(mode: Any, configure: Configure, graph: Graph) -> None:
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
        with pytest.raises(RunError, match=f"{other}: holds another run than this"):
            run.name_concepts({1: "first"}, folder / other)
        with pytest.raises(RunError, match=f"{other}: holds another run than this"):
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
            with pytest.raises(
                CheckpointError, match=r"already holds a run; resume it \(--resume, resume=True\), overwr"
            ):
                attempt()
        assert same_weights(open_run(tmp_path / "run", device="cpu"), run)

    def test_overwriting_replaces_all_of_a_run(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        short(graph, "itransf", out=tmp_path / "run").name_concepts({0: "first"}, tmp_path / "run")
        short(graph, "transe", out=tmp_path / "run", overwrite=True)
        opened = open_run(tmp_path / "run", device="cpu")
        assert (opened.config.name, opened.concept_names) == ("transe", {})

    def test_overwriting_spares_what_is_no_run(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("x")
        with pytest.raises(CheckpointError, match="does not look like a run"):
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


class TestResolving:
    def test_layers_rise_from_defaults_to_single_settings(self, graph: Graph, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('seed = 5\n[model]\nname = "transr"\ndim = 7\n[training]\nepochs = 2\n')
        config = resolve_config(graph, config=path, settings=["training.epochs=9"])
        assert (config.name, config.model.dim, config.seed, config.training.epochs) == ("transr", 7, 5, 9)

    def test_a_mapping_is_a_file_without_a_name(self, graph: Graph) -> None:
        assert resolve_config(graph, config={"model": {"name": "transe"}}).name == "transe"
        with pytest.raises(ConfigError, match=r"^config: there is no setting 'seeds'"):
            resolve_config(graph, config={"seeds": 3})

    def test_presets_are_taken_as_they_are_and_can_be_overridden(self, graph: Graph) -> None:
        for name in itransf.list_presets():
            plain = resolve_config(graph, preset=name)
            other = resolve_config(graph, preset=name, settings=["training.epochs=3"])
            assert other.training.epochs == 3
            assert other.loss == plain.loss

    @pytest.mark.parametrize("name", list(MODELS))
    def test_any_graph_and_model_has_defaults(self, graph: Graph, name: str) -> None:
        assert resolve_config(graph, settings=[f"model.name={name}"]).name == name

    def test_without_a_word_it_is_itransf(self, graph: Graph) -> None:
        config = resolve_config(graph)
        assert config.name == "itransf"
        assert config.model.support_size <= 5

    @pytest.mark.parametrize("settings", [["model.name=transq"], ["model=3"], ["model.name=3"], ["model.name=[1]"]])
    def test_mistakes_about_the_model_are_config_errors(self, graph: Graph, settings: list[str]) -> None:
        with pytest.raises(ConfigError, match="model"):
            resolve_config(graph, settings=settings)

    def test_another_runs_settings(self, graph: Graph, configure: Configure) -> None:
        config = configure("transe", "training.epochs=7")
        assert resolve_config(graph, config=config) == config

    @pytest.mark.parametrize("config", [["a"], 3])
    def test_what_no_settings_can_be_read_from(self, graph: Graph, config: Any) -> None:
        with pytest.raises(ConfigError, match="config is a TOML file, a nested mapping or a run's config, not"):
            resolve_config(graph, config=config)

    @pytest.mark.parametrize("settings", ["training.epochs=3", {"training.epochs": 3}, [3], None])
    def test_settings_are_a_list_of_strings(self, graph: Graph, settings: Any) -> None:
        with pytest.raises(ConfigError, match="settings are a list of strings"):
            train(graph, settings=settings)

    def test_nothing_goes_on_from_nowhere(self, graph: Graph) -> None:
        with pytest.raises(ConfigError, match="there is nothing to go on from; give the run's folder as out"):
            train(graph, resume=True)

    def test_a_seed_beats_the_settings(self, short: Any, graph: Graph) -> None:
        assert short(graph, "transe", "seed=1", seed=7).config.seed == 7


class TestDevices:
    def test_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert choose_device("cpu").type == "cpu"
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert choose_device("auto").type == "cpu"
        with pytest.raises(ConfigError, match="torch sees no GPU here; use cpu"):
            choose_device("cuda")
        with pytest.raises(ConfigError, match="there is no device 'tpu'; use auto, cpu or cuda"):
            choose_device("tpu")

    @pytest.mark.parametrize("wanted", ["cpu", torch.device("cpu"), "auto", None])
    def test_torchs_own_and_none(self, wanted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert choose_device(wanted) == torch.device("cpu")

    @pytest.mark.parametrize("wanted", [3.5, ["cpu"], "meta", torch.device("meta")])
    def test_what_is_no_device_for_training(self, wanted: Any) -> None:
        with pytest.raises(ConfigError, match=r"device .*; use auto, cpu or cuda"):
            choose_device(wanted)

    def test_one_of_several(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        assert choose_device("cuda:1") == torch.device("cuda", 1)
        with pytest.raises(ConfigError, match="there is no cuda:2: torch sees 2 GPUs, numbered from 0"):
            choose_device("cuda:2")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import itransf, sys; print([name for name in ('torch', 'numpy', 'pyarrow') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_public_names_lead_to_the_same_things() -> None:
    assert itransf.train is train
    assert itransf.open is open_run
    assert itransf.Run is Run
