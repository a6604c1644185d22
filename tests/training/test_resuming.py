from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.models import MODELS, Model, Sizes
from itransf.storage import RunFolder
from itransf.training import Trainer
from itransf.training import trainer as trainer_module
from itransf.training.fused import plan

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

pytestmark = pytest.mark.usefixtures("single_batch_plans")

STATE = "checkpoint-1.safetensors"
State = tuple[dict[str, Tensor], dict[str, Any]]
RECIPES = {
    "sgd": ("stranse", "training.optimizer=sgd"),
    "adam": ("itransf", "training.optimizer=adam", "training.learning_rate=0.01", "assignment.every=1"),
    "adagrad": ("transr", "training.optimizer=adagrad", "training.lr_decay=linear"),
    "softmax": ("transe", "training.optimizer=adam", "loss.name=cross_entropy", "loss.candidates=8"),
    "domains": (
        "itransf",
        "negatives.domain=0.2",
        "negatives.domain_stop=0.5",
        "assignment.every=2",
        "assignment.triples=5",
    ),
    "l1": ("itransf", "model.attention=l1", "training.optimizer=adam"),
    "shared": ("transe", "negatives.shared=true", "negatives.per_triple=4"),
    "dropout": ("tucker", "loss.name=cross_entropy", "training.optimizer=adam"),
    "average": ("itransf", "training.weight_averaging=0.6", "assignment.every=1"),
}


def measure(model: Model) -> float:
    """A validation metric that moves up and down."""
    return float(model.get_parameter("relations").detach()[0, 0])


def make_trainer(graph: Graph, config: Config) -> Trainer:
    torch.manual_seed(config.seed)
    model = MODELS[config.name](Sizes(len(graph.entities), len(graph.relations)), config.model)
    return Trainer(model, graph, config, measure)


def put_away(trainer: Trainer, folder: Path) -> None:
    """Write the state as a run does."""
    stored = RunFolder(folder)
    if not stored.is_occupied:
        stored.create(trainer.graph, trainer.config)
    stored.stage_tensors(STATE, *trainer.state())
    stored.commit()


def run_to_the_end(trainer: Trainer) -> tuple[dict[str, Tensor], list[tuple[float, float | None]], Any]:
    reports = [(report.loss, report.metric) for report in trainer.epochs()]
    tensors, progress = trainer.state()
    return {name: tensor.clone() for name, tensor in tensors.items()}, reports, {**progress, "seconds": 0.0}


class InterruptedTrainingError(Exception):
    """The interruption."""


def interrupt(graph: Graph, config: Config, batches: int, folder: Path) -> None:
    """Train for so many batches, put the state away, go on a little, and fall over."""
    trainer, done = make_trainer(graph, config), 0

    def count() -> None:
        nonlocal done
        done += 1
        if done == batches:
            put_away(trainer, folder)
        if done == batches + 2:
            raise InterruptedTrainingError

    with pytest.raises(InterruptedTrainingError):
        list(trainer.epochs(after_batch=count))


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=40)


def build(configure: Configure, recipe: str) -> Config:
    name, *settings = RECIPES[recipe]
    return configure(name, "training.epochs=5", "training.batch_size=9", "validation.every=2", *settings)


def check_going_on(graph: Graph, config: Config, folder: Path, unbroken: Any) -> Trainer:
    """Take up the stored state, go on to the end, and compare everything with the unbroken run."""
    tensors, reports, progress = unbroken
    resumed = make_trainer(graph, config)
    resumed.load_state(*RunFolder(folder).read_tensors(STATE))
    found, later, ended = run_to_the_end(resumed)
    assert later == reports[len(reports) - len(later) :]
    assert ended == progress
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(found[name], tensor), name
    return resumed


@pytest.mark.parametrize("recipe", list(RECIPES))
def test_a_run_cut_in_an_epoch_goes_on_to_the_same_bits(
    configure: Configure, graph: Graph, tmp_path: Path, recipe: str
) -> None:
    config = build(configure, recipe)
    unbroken = run_to_the_end(make_trainer(graph, config))
    for batches in (1, 10, 13):  # five are an epoch: at its start, after its last batch, in its middle
        interrupt(graph, config, batches, tmp_path)
        stored = RunFolder(tmp_path).read_tensors(STATE)[1]
        assert stored["epoch"] * 5 + stored["batches"] == batches
        assert stored["batches"] > 0
        check_going_on(graph, config, tmp_path, unbroken)


@pytest.mark.parametrize("recipe", list(RECIPES))
def test_a_run_cut_between_epochs_goes_on_to_the_same_bits(
    configure: Configure, graph: Graph, tmp_path: Path, recipe: str
) -> None:
    config = build(configure, recipe)
    unbroken = run_to_the_end(make_trainer(graph, config))
    for epochs in (1, 4):
        trainer = make_trainer(graph, config)
        for report in trainer.epochs():
            if report.epoch == epochs:
                break
        put_away(trainer, tmp_path)
        check_going_on(graph, config, tmp_path, unbroken)


@pytest.mark.parametrize("recipe", ["sgd", "softmax", "domains", "shared"])
def test_a_run_of_plain_steps_cut_within_a_plan_goes_on_to_the_same_bits(
    configure: Configure, graph: Graph, tmp_path: Path, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "PLANNED_ROWS", {"cpu": 90})
    monkeypatch.setattr(trainer_module, "make_engine", lambda *parts: None)
    config = build(configure, recipe)
    trainer = make_trainer(graph, config)
    assert trainer.planned == 3
    unbroken = run_to_the_end(trainer)
    for batches in (1, 2, 3, 4, 5, 7, 10):  # an epoch has a plan of three batches and one of two
        interrupt(graph, config, batches, tmp_path)
        check_going_on(graph, config, tmp_path, unbroken)


def test_a_finished_run_has_nothing_left_to_do(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = build(configure, "sgd")
    trainer = make_trainer(graph, config)
    unbroken = run_to_the_end(trainer)
    put_away(trainer, tmp_path)
    assert check_going_on(graph, config, tmp_path, unbroken).progress.finished


def test_kept_best_weights_do_not_change_with_the_model(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = build(configure, "sgd")
    trainer = make_trainer(graph, config)
    next(trainer.epochs())
    next(trainer.epochs())
    assert trainer.best is not None
    before = {name: tensor.clone() for name, tensor in trainer.best.items()}
    put_away(trainer, tmp_path)
    resumed = make_trainer(graph, config)
    resumed.load_state(*RunFolder(tmp_path).read_tensors(STATE))
    next(resumed.epochs())
    assert resumed.best is not None
    assert all(torch.equal(resumed.best[name], tensor) for name, tensor in before.items())
