"""Training whose concepts start from the matrices of STransE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from itransf.data.graph import Graph
from itransf.data.planted import plant
from itransf.errors import ConfigError
from itransf.fitting import Fit, build_model, warm_config
from itransf.interpret.measures import measure_recovery, read_model
from itransf.models import ITransF, STransE
from itransf.storage import RunFolder
from itransf.training import Trainer
from itransf.training.condensing import condense
from itransf.training.trainer import weights
from training.interruption import FragileFolder, InterruptionError

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

CPU = torch.device("cpu")
SETTINGS = ("warm_start.epochs=3", "warm_start.model=stranse", "model.norm=2")


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=24, valid=8, test=8)


def train_free(graph: Graph, configure: Configure, *settings: str) -> STransE:
    warm = warm_config(configure("itransf", *SETTINGS, *settings))
    free = build_model(graph, warm, CPU)
    list(Trainer(free, graph, warm).epochs())
    assert isinstance(free, STransE)
    return free


def test_concepts_and_supports_come_from_the_matrices(configure: Configure, graph: Graph) -> None:
    config = configure("itransf", *SETTINGS, "training.epochs=0")
    fit = Fit(graph, config, CPU, progress=False)
    model, expected = fit.run(), build_model(graph, config, CPU)
    assert isinstance(expected, ITransF)
    assert condense(train_free(graph, configure), expected, torch.as_tensor(graph.train[:, 1])) >= 1
    for name, tensor in weights(expected).items():
        assert torch.equal(tensor, weights(model)[name]), name
    assert [line["phase"] for line in fit.history] == ["warm start"] * 3


@pytest.mark.parametrize("name", ["transe", "stranse", "itransf"])
def test_other_models_take_the_vectors_alone(configure: Configure, graph: Graph, name: str) -> None:
    dense = ("model.attention=dense",) if name == "itransf" else ()
    config = configure(name, *SETTINGS, *dense, "training.epochs=0")
    model, free = Fit(graph, config, CPU, progress=False).run(), train_free(graph, configure)
    for key, tensor in weights(build_model(graph, config, CPU)).items():
        expected = weights(free)[key] if key in ("entities", "relations") else tensor
        assert torch.equal(weights(model)[key], expected), key


@pytest.mark.parametrize("saves", [2, 5])
def test_a_broken_training_ends_in_the_same_bits(
    configure: Configure, graph: Graph, tmp_path: Path, saves: int
) -> None:
    config = configure("itransf", *SETTINGS, "training.epochs=3", "checkpoint.epochs=1")
    whole = Fit(graph, config, CPU, progress=False).run()
    folder = FragileFolder(tmp_path / "run", saves)
    folder.create(graph, config, "test")
    with pytest.raises(InterruptionError):
        Fit(graph, config, CPU, folder, progress=False).run()
    resumed = Fit(graph, config, CPU, RunFolder(tmp_path / "run"), progress=False).run(resume=True)
    assert all(torch.equal(tensor, weights(resumed)[name]) for name, tensor in weights(whole).items())


def test_planted_supports_are_recovered(configure: Configure) -> None:
    planted = plant(0, entities=200, relations=12, concepts=3, support_size=1)
    config = configure(
        "itransf",
        *("model.dim=8", "model.concepts=5", "model.support_size=1", "model.matrix_rate=0.3"),
        *("model.norm=2", "model.entities=none", "model.projected=none"),
        *("loss.kind=softmax", "loss.scale=4", "loss.candidates=64", "negatives.avoid_known=false"),
        *("training.optimizer=adam", "training.decay=linear"),
        *("training.batch_size=256", "training.block_size=32", "training.epochs=2", "training.learning_rate=0.02"),
        *("warm_start.model=stranse", "warm_start.epochs=30", "warm_start.learning_rate=0.1"),
    )
    reading = read_model(Fit(planted.graph, config, CPU, progress=False).run(), planted.graph, "ITransF")
    assert measure_recovery([reading], [planted], draws=20).value == pytest.approx(1, abs=0.1)


def test_an_unknown_first_model_is_refused(configure: Configure) -> None:
    with pytest.raises(ConfigError, match=r"warm_start\.model"):
        configure("itransf", "warm_start.model=distmult")
