from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import itransf
from itransf.errors import WriteError
from itransf.experiments import DemoResult, run_demo

# One epoch is enough to see that everything fits together.
QUICK = (
    "training.epochs=1",
    "training.batch_size=1000",
    "training.optimizer=adam",
    "training.learning_rate=0.01",
    "loss.name=hinge",
    "negatives.per_triple=1",
    "warm_start.epochs=0",
    "validation.every=0",
    "model.dim=16",
)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> DemoResult:
    return run_demo(tmp_path_factory.mktemp("demo"), progress=False, settings=QUICK)


def test_three_models_are_measured_on_test(result: DemoResult) -> None:
    assert [model.model for model in result.models] == ["transe", "stranse", "itransf"]
    for model in result.models:
        row = model.to_dict()
        assert row["mr"] == model.evaluation["mr"]
        assert row["hits@10_rare"] == model.evaluation.buckets[-1]["hits@10"]
        assert model.evaluation["queries"] == 2 * len(result.graph.test)


def test_ten_new_triples_have_concepts_and_at_most_two_share_a_relation(result: DemoResult) -> None:
    triples = [discovery.triple for discovery in result.discoveries]
    assert len(triples) == 10
    assert all(triple.known is None for triple in triples)
    assert len({triple.head for triple in triples}) == 10
    relations = [triple.relation for triple in triples]
    assert max(relations.count(relation) for relation in relations) <= 2
    assert all(discovery.concepts["head"] for discovery in result.discoveries)


def test_the_heat_map_and_the_run_are_kept(result: DemoResult) -> None:
    pytest.importorskip("matplotlib")
    assert result.heatmap is not None
    assert result.heatmap.read_bytes().startswith(b"\x89PNG")
    run = itransf.open(result.run_folder)
    assert run.evaluate()["mrr"] == pytest.approx(result.models[-1].evaluation["mrr"])


def test_everything_can_be_json(result: DemoResult) -> None:
    content = json.loads(json.dumps(result.to_dict()))
    assert content["graph"] == "world"
    assert content["rare_relations"] == 11
    assert len(content["discoveries"]) == 10
    assert content["run"] == str(result.run_folder)


def test_a_second_demo_replaces_the_first_and_needs_no_matplotlib(
    result: DemoResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    again = run_demo(result.run_folder.parent, progress=False, settings=QUICK)
    assert again.heatmap is None
    assert "itransf[plots]" in again.missing
    assert again.to_dict()["models"][-1]["mrr"] == result.to_dict()["models"][-1]["mrr"]


def test_places_that_cannot_be_used_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "itransf").mkdir()
    (tmp_path / "itransf" / "thesis.tex").write_text("precious")
    (tmp_path / "file").write_text("in the way")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("nothing is trained before the place is known to be good")

    monkeypatch.setattr("itransf.experiments.demo.train", refuse)
    with pytest.raises(itransf.CheckpointError, match="does not look like a run"):
        run_demo(tmp_path, progress=False, settings=QUICK)
    with pytest.raises(WriteError, match=r"the folder .*file cannot be written: .*; choose another"):
        run_demo(tmp_path / "file", progress=False, settings=QUICK)
    assert (tmp_path / "itransf" / "thesis.tex").read_text() == "precious"
