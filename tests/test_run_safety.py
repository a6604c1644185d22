"""What lies in a run's folder is not lost to a training that fails, a second one, or a careless --overwrite."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from itransf.data.graph import Graph
from itransf.errors import CheckpointError, ConfigError, ITransFError, RunError
from itransf.files import _umask, lock
from itransf.run import open_run
from itransf.storage import CHECKPOINT, RunFolder
from itransf.training.trainer import weights

if TYPE_CHECKING:
    from conftest import GraphMaker


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=30, valid=8, test=8)


@pytest.fixture
def place(short: Any, graph: Graph, tmp_path: Path) -> Path:
    """A finished run's folder."""
    short(graph, out=tmp_path / "run")
    return tmp_path / "run"


def read_all(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def spoil(folder: Path, how: str) -> None:
    """Make a checkpoint one that cannot be gone on from."""
    tensors, triples = RunFolder(folder).read_tensors(CHECKPOINT)
    if how == "cut":
        os.truncate(folder / CHECKPOINT, 100)
        return
    if how == "no triples":
        triples = {}
    elif how == "no tensors":
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("model.")}
    elif how == "other shapes":
        tensors = {name: tensor[:1].clone() for name, tensor in tensors.items()}
    elif how == "another device":
        tensors |= {name: torch.zeros(16, dtype=torch.uint8) for name in ("random.now", "random.epoch")}
    RunFolder(folder).write_tensors(CHECKPOINT, tensors, triples)


class TestResuming:
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
        (place / "model.safetensors").unlink()
        opened = open_run(place, device="cpu")
        assert opened.unfinished == 3
        assert torch.equal(weights(opened.model)["entities"], weights(run.model)["entities"])


class TestOverwriting:
    @pytest.mark.parametrize("settings", ["warm_start.run=nowhere", "warm_start.run={run}", "training.max_minutes=1"])
    def test_a_training_that_fails_at_once_brings_the_old_run_back(
        self, short: Any, graph: Graph, place: Path, monkeypatch: pytest.MonkeyPatch, settings: str
    ) -> None:
        def fail(*_: object) -> None:
            raise ConfigError("no")

        before = read_all(place)
        if "minutes" in settings:
            monkeypatch.setattr("itransf.fitting.build_model", fail)
        with pytest.raises(ITransFError):
            short(graph, "transe", settings.format(run=place), out=place, overwrite=True)
        assert read_all(place) == before

    def test_files_of_others_stay(self, short: Any, graph: Graph, place: Path) -> None:
        (place / "triples.tsv").write_text("mine")
        short(graph, "transe", out=place, overwrite=True)
        assert (place / "triples.tsv").read_text() == "mine"
        assert open_run(place, device="cpu").config.name == "transe"
        assert not (place / ".replaced").exists()
        RunFolder(place).clear()
        assert [path.name for path in place.iterdir()] == ["triples.tsv"]

    def test_settings_of_ones_own_are_no_run(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_text("# mine")
        for options in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(RunError, match="does not look like a run, so it is left alone"):
                short(graph, out=tmp_path, **options)
        assert read_all(tmp_path) == {"config.toml": b"# mine"}

    @pytest.mark.parametrize("has_begun", [False, True])
    def test_a_run_put_away_by_a_process_that_died_comes_back(
        self, short: Any, graph: Graph, place: Path, has_begun: bool
    ) -> None:
        before = read_all(place)
        (place / ".replaced").mkdir()
        for name in before:
            (place / name).replace(place / ".replaced" / name)
        if has_begun:
            RunFolder(place).create(graph, short(graph).config, "0")
        with pytest.raises(ITransFError):
            short(graph, "transe", "warm_start.run=nowhere", out=place, overwrite=True)
        assert read_all(place) == before

    def test_a_failed_beginning_leaves_no_folder(self, short: Any, graph: Graph, tmp_path: Path) -> None:
        with pytest.raises(ITransFError):
            short(graph, "transe", "warm_start.run=nowhere", out=tmp_path / "new")
        assert not (tmp_path / "new").exists()


class TestTwoAtOnce:
    def test_a_folder_in_which_somebody_trains_is_refused(self, short: Any, graph: Graph, place: Path) -> None:
        before = read_all(place)
        with RunFolder(place).held():
            for options in ({"resume": True}, {"overwrite": True}):
                with pytest.raises(RunError, match="another training is at work here"):
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

    def test_reading_the_umask_from_many_threads_leaves_it(self) -> None:
        before = _umask()
        threads = [threading.Thread(target=lambda: [_umask() for _ in range(2000)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert _umask() == before
