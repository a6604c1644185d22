from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import itransf
from itransf import fitting, memory
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.fitting import build_model
from itransf.models import MODELS
from itransf.training.trainer import weights

if TYPE_CHECKING:
    from conftest import GraphMaker

CPU = torch.device("cpu")


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=24, valid=8, test=8)


@pytest.mark.parametrize("model", MODELS)
def test_weights_without_memory_have_the_shapes_of_those_that_are_trained(graph: Graph, model: str) -> None:
    config = itransf.run.resolve_config(graph, settings=[f"model.name={model}"])
    expected = {name: tensor.shape for name, tensor in weights(build_model(graph, config, CPU)).items()}
    sketched = memory.sketch_weights(graph, config)
    assert {name: tensor.shape for name, tensor in sketched.items()} == expected
    assert all(tensor.is_meta for tensor in sketched.values())


def test_memory_is_that_of_the_weights_their_copies_and_the_triples(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "find_used_memory", lambda: 1000)
    monkeypatch.setattr(memory, "WORKING", 500)
    settings = ["model.name=distmult", "model.dim=10", "training.optimizer=adam"]
    config = itransf.run.resolve_config(graph, settings=settings)
    parameters = 4 * 10 * (12 + 3)  # and best weights, and two moments
    expected = 1000 + 4 * parameters + memory.PER_TRIPLE * 40 + 500
    assert memory.estimate_memory(graph, config, CPU) == expected


def test_too_much_memory_is_refused_before_anything_is_written(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "find_free", lambda: 2 * 10**9)
    monkeypatch.setattr(memory, "find_used_memory", lambda: 5 * 10**8)
    monkeypatch.setattr(fitting, "build_model", lambda *_: pytest.fail("it is too large"))
    with pytest.raises(ConfigError, match=r"about [\d.,]+ GB of memory, and 2\.5 GB are free; lower model"):
        itransf.train(graph, settings=["model.dim=20000000"], out=tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_opening_a_run_does_not_import_the_compiler_of_torch(graph: Graph, tmp_path: Path) -> None:
    itransf.train(graph, settings=["training.epochs=1", "warm_start.epochs=1"], out=tmp_path / "run", device="cpu")
    script = "import sys, itransf; itransf.open(sys.argv[1]); sys.exit('torch._dynamo' in sys.modules)"
    subprocess.run([sys.executable, "-c", script, tmp_path / "run"], check=True)
