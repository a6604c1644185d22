from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from itransf import fitting
from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import CheckpointError
from itransf.fitting import CHECKPOINT, Fit, describe_epoch
from itransf.models import Model
from itransf.storage import RunFolder
from itransf.training import EpochReport
from itransf.training.trainer import weights
from training.interruption import FragileFolder, InterruptionError

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

pytestmark = pytest.mark.usefixtures("single_batch_plans")

CPU = torch.device("cpu")


def start(graph: Graph, config: Config, folder: RunFolder | None = None) -> Fit:
    if folder is not None and not folder.has_checkpoint:
        folder.create(graph, config)
    return Fit(graph, config, CPU, folder, progress=False)


def same_bits(left: Model, right: Model) -> bool:
    return all(torch.equal(tensor, weights(right)[name]) for name, tensor in weights(left).items())


def without_time(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**line, "seconds": 0.0} for line in history]


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=24, valid=8, test=8)


@pytest.mark.parametrize(
    "recipe",
    [
        ("stranse", "training.optimizer=sgd"),
        ("itransf", "training.optimizer=adam", "training.learning_rate=0.02", "assignment.every=1"),
    ],
    ids=["sgd", "adam"],
)
def test_a_run_cut_anywhere_goes_on_to_the_same_bits(
    configure: Configure, graph: Graph, tmp_path: Path, recipe: tuple[str, ...]
) -> None:
    """Every checkpoint of a run is tried: in the warm start and after it, within and between epochs."""
    length = (
        "warm_start.epochs=1",
        "training.epochs=2",
        "training.batch_size=12",
        "checkpoint.minutes=1e-9",
    )
    config = configure(recipe[0], *length, "validation.every=1", *recipe[1:])
    folder = FragileFolder(tmp_path / "unbroken")
    unbroken = start(graph, config, folder)
    wanted = unbroken.run()
    assert folder.phases == ["warm start"] * 4 + ["training"] * 7  # two batches, the epoch; the phase
    for number in range(1, len(folder.phases) + 1):
        path = tmp_path / f"cut{number}"
        with pytest.raises(InterruptionError):
            start(graph, config, FragileFolder(path, stop_after=number)).run()
        fit = start(graph, config, RunFolder(path))
        found = fit.run(resume=True)
        assert same_bits(found, wanted), (number, folder.phases[number - 1])
        assert without_time(fit.history) == without_time(unbroken.history)


def test_more_epochs_go_on_where_a_finished_run_ended(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    settings = ("training.optimizer=adam", "validation.every=1")
    longer = configure("itransf", *settings, "training.epochs=6")
    start(graph, configure("itransf", *settings, "training.epochs=2"), RunFolder(tmp_path)).run()
    fit = start(graph, longer, RunFolder(tmp_path))
    assert same_bits(fit.run(resume=True), start(graph, longer).run())
    assert [line["epoch"] for line in fit.history] == [1, 2, 3, 4, 5, 6]


def test_a_run_that_lost_its_patience_does_not_go_on(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = configure(
        "transe",
        "training.epochs=50",
        "validation.every=1",
        "validation.patience=2",
        "checkpoint.epochs=1",
    )
    unbroken = start(graph, config, RunFolder(tmp_path))
    wanted = unbroken.run()
    assert len(unbroken.history) < 50
    fit = start(graph, config, RunFolder(tmp_path))
    assert same_bits(fit.run(resume=True), wanted)
    assert len(fit.history) == len(unbroken.history)


def test_more_patience_lets_it_go_on(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    settings = ("training.epochs=12", "validation.every=1")
    short = start(graph, configure("transe", *settings, "validation.patience=2"), RunFolder(tmp_path))
    short.run()
    assert len(short.history) < 12
    fit = start(graph, configure("transe", *settings, "validation.patience=0"), RunFolder(tmp_path))
    fit.run(resume=True)
    assert len(fit.history) == 12


def test_with_nothing_saved_it_starts(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = configure("transe")
    assert same_bits(start(graph, config, RunFolder(tmp_path)).run(resume=True), start(graph, config).run())


def test_a_damaged_checkpoint_is_named(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = configure("transe")
    start(graph, config, RunFolder(tmp_path)).run()
    (tmp_path / CHECKPOINT).write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match=r"checkpoint\.safetensors: cannot be read"):
        start(graph, config, RunFolder(tmp_path)).run(resume=True)


def test_an_interrupt_after_the_last_batch_of_a_warm_start_is_heard(
    configure: Configure, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure("itransf", "warm_start.epochs=2", "training.epochs=2")
    folder = RunFolder(tmp_path / "run")

    def describe(report: EpochReport, phase: str) -> dict[str, Any]:
        if report.epoch == 2:
            signal.raise_signal(signal.SIGINT)
        return describe_epoch(report, phase)

    with monkeypatch.context() as patch:
        patch.setattr(fitting, "describe_epoch", describe)
        with pytest.raises(KeyboardInterrupt):
            start(graph, config, folder).run()
    triples = folder.read_tensors(CHECKPOINT)[1]
    assert (triples["phase"], triples["progress"]["finished"]) == ("warm start", True)
    resumed = start(graph, config, folder).run(resume=True)
    assert same_bits(resumed, start(graph, config).run())
