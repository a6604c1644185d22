"""The whole path on a GPU; skipped where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from comparing import same_weights
from itransf.data.graph import Graph
from itransf.interpret import export
from itransf.run import open_run
from training.interruption import FragileFolder, InterruptionError

if TYPE_CHECKING:
    from conftest import GraphMaker

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")

MODELS = ("transe", "transr", "stranse", "itransf")
LOSSES = ("loss.name=hinge", "loss.name=self_adversarial", "loss.name=cross_entropy")


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=40, relations=4, train=300, valid=40, test=40)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_trained_run_answers_as_it_does_on_the_cpu(
    short: Any, graph: Graph, tmp_path: Path, name: str, loss: str
) -> None:
    trained = short(graph, name, loss, "assignment.every=1", device="cuda", out=tmp_path / "run")
    there, here = open_run(tmp_path / "run", device="cuda"), open_run(tmp_path / "run", device="cpu")
    assert next(trained.model.parameters()).is_cuda
    assert same_weights(there, here)
    assert there.evaluate()["mrr"] == pytest.approx(here.evaluate()["mrr"], abs=1e-4)
    triples = [("e1", "r0", "e2"), ("e3", "r1", "e4")]
    for left, right in zip(there.score(triples), here.score(triples), strict=True):
        assert left.score == pytest.approx(right.score, abs=1e-4)
    tops = [run.predict(head="e1", relation="r0", top=5) for run in (there, here)]
    assert [p.score for p in tops[0]] == pytest.approx([p.score for p in tops[1]], abs=1e-4)
    assert len(there.predict(relation="r0", top=5)) == 5


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_deterministic_run_cut_short_goes_on_to_the_same_bits(
    short: Any, graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str, optimizer: str
) -> None:
    settings = (
        "itransf",
        loss,
        f"training.optimizer={optimizer}",
        "warm_start.epochs=2",
        "assignment.every=1",
        "checkpoint.minutes=1e-9",
        "training.deterministic=true",
    )
    with monkeypatch.context() as patch:
        patch.setattr("itransf.run.opening.RunFolder", lambda path: FragileFolder(path, 4))
        with pytest.raises(InterruptionError):
            short(graph, *settings, out=tmp_path / "run", device="cuda")
    resumed = short(graph, *settings, out=tmp_path / "run", resume=True, device="cuda")
    assert same_weights(resumed, short(graph, *settings, device="cuda"))


def test_predictions_and_vectors_are_exported(short: Any, graph: Graph, tmp_path: Path) -> None:
    short(graph, "itransf", device="cuda", out=tmp_path / "run")
    opened = open_run(tmp_path / "run", device="cuda")
    written = export(opened.model, opened.graph, tmp_path / "tables")
    assert written
    assert all(path.stat().st_size for path in written)
