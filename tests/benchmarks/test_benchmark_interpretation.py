"""Measuring how far models can be read: what is trained, what is measured, and what a second call does."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.recipes import RECIPES, Case, find_model, list_cases, list_models, make_config
from benchmarks.stored_attention import write_weights

import itransf
from benchmarks import interpretation, recipes, stored_attention
from itransf.data.graph import Graph
from itransf.data.planted import plant

SMALL = {"entities": 50, "relations": 6, "concepts": 4, "dim": 4}
QUICK = ["training.epochs=1", "model.dim=4", "model.concepts=6", "model.support_size=2", "validation.every=0"]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return plant(0, **SMALL).graph


@pytest.fixture
def measure(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Return what calls the command on a small graph and returns the record."""
    monkeypatch.setattr(recipes, "_load_once", lambda dataset: graph)

    def call(*words: str, dataset: str = "any") -> dict[str, Any]:
        common = ["--dataset", dataset, "--runs", str(tmp_path / "runs"), "--results", str(tmp_path)]
        interpretation.main([*common, "--draws", "20", "--triples", "3", *words])
        found: dict[str, Any] = json.loads((tmp_path / f"interpretation-{dataset}.json").read_text(encoding="utf-8"))
        return found

    return partial(call, "--settings", *QUICK)


def test_cases_are_all_seeds_of_itransf_and_one_of_each_baseline() -> None:
    cases = list_cases("wn18", ["itransf", "stranse", "l1"], [3, 4])
    assert [case.name for case in cases] == ["itransf-3", "itransf-4", "stranse-3", "l1-3"]
    planted = list_cases("planted", ["itransf", "dense"], [0])
    assert [case.name for case in planted] == ["itransf-0-1", "dense-0-1", "itransf-0-2", "dense-0-2"]


def test_complex_is_trained_for_all_epochs_of_icomplex(graph: Graph) -> None:
    models = list_models("fb15k-237-icomplex")
    assert models == ["icomplex", "complex", "stranse"]
    ours, theirs, stranse = (make_config("fb15k-237-icomplex", Case(each, 0), graph, [], "cpu") for each in models)
    assert ours["model"]["name"] == "icomplex"
    assert theirs["model"] == {"name": "complex", "dim": ours["model"]["dim"]}
    assert theirs["training"]["epochs"] == ours["training"]["epochs"] + ours["warm_start"]["epochs"]
    assert theirs["training"]["learning_rate"] == ours["warm_start"]["learning_rate"]
    assert theirs["regularizer"] == ours["regularizer"]
    assert stranse == make_config("fb15k-237", Case("stranse", 0), graph, [], "cpu")


@pytest.mark.parametrize("dataset", [*(name for name in RECIPES if find_model(name) == "itransf"), "any"])
def test_baselines_are_trained_like_itransf(dataset: str, graph: Graph) -> None:
    size = 1 if dataset == "planted" else None
    models = list_models(dataset)
    configs = {model: make_config(dataset, Case(model, 0, size), graph, [], "cpu") for model in models}
    ours, theirs = configs["itransf"], configs["stranse"]
    assert {**theirs, "model": None} == {**ours, "model": None}
    assert theirs["model"].items() <= {**ours["model"], "name": "stranse"}.items()
    for kind in ("dense", "l1"):
        assert configs[kind] == {**ours, "model": {**ours["model"], "attention": kind}}


def test_a_planted_truth_is_learned_with_half_as_many_concepts_again(graph: Graph) -> None:
    config = make_config("planted", Case("itransf", 0, 2), graph, [], "cpu")
    assert config["model"]["concepts"] == 1.5 * recipes.PLANTED_CONCEPTS
    assert config["model"]["support_size"] == 2


def test_everything_is_stored_and_a_second_call_trains_nothing(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--seeds", "0", "1", "--models", "itransf", "l1")
    record = measure(*words)
    assert record["complete"]
    assert [(run["model"], run["seed"]) for run in record["runs"]] == [
        ("itransf", 0),
        ("itransf", 1),
        ("l1", 0),
    ]
    assert all(0 < run[split]["mrr"] <= 1 for run in record["runs"] for split in ("valid", "test"))
    names = [(model["name"], model["runs"]) for model in record["models"]]
    assert names == [("ITransF", 2), ("dense + l1", 1), ("random", 1)]
    assert record["settings"]["l1"]["model"]["attention"] == "l1"
    monkeypatch.setattr(itransf, "train", None)
    assert measure(*words) == record
    assert "is complete" in capsys.readouterr().out


def test_what_was_stored_by_another_recipe_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options, path = interpretation.parse_options(["--dataset", "wn18"]), tmp_path / "record.json"
    record = interpretation.open_record(options, path)
    path.write_text(json.dumps({**record, "complete": True}), encoding="utf-8")
    assert interpretation.open_record(options, path)["complete"]
    monkeypatch.setitem(recipes.RECIPES, "wn18", {"settings": ["model.dim=8"]})
    assert "complete" not in interpretation.open_record(options, path)


@pytest.mark.parametrize("dataset", ["any", "world-icomplex"])
def test_stored_attention_is_measured_like_the_models_it_is_of(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, graph: Graph, dataset: str
) -> None:
    words = ("--seeds", "0", "1", "--models", find_model(dataset), "--settings", *QUICK, "warm_start.epochs=1")
    trained = measure(*words, dataset=dataset)
    path = tmp_path / f"interpretation-{dataset}.json"
    path.write_text(json.dumps({**trained, "complete": False, "models": []}), encoding="utf-8")
    monkeypatch.setattr(itransf, "train", None)
    stored = measure(*words, "--stored", dataset=dataset)
    assert not stored["complete"]
    assert stored["runs"] == trained["runs"]
    (again, random), first = stored["models"], trained["models"][0]
    assert (again["runs"], random["name"]) == (2, "random")
    assert 5 <= len(again["findings"]) < len(first["findings"])
    for found, wanted in zip(again["findings"], first["findings"], strict=False):
        assert (found["measure"], found["n"]) == (wanted["measure"], wanted["n"])
        assert found["value"] == (None if wanted["value"] is None else pytest.approx(wanted["value"], abs=0.02))
    picture = tmp_path / "attention.html"
    monkeypatch.setattr(stored_attention, "find_model", lambda dataset: words[4])
    stored_attention.main(["--dataset", dataset, "--results", str(tmp_path), "--seed", "1", "--out", str(picture)])
    assert all(name in picture.read_text(encoding="utf-8") for name in graph.relations.names)
    with pytest.raises(SystemExit, match="2"):
        stored_attention.main(["--dataset", dataset, "--results", str(tmp_path), "--seed", "7", "--out", str(picture)])


def test_stored_attention_sums_to_one(measure: Callable[..., dict[str, Any]]) -> None:
    (run,) = measure("--seeds", "0", "--models", "itransf")["runs"]
    for side in ("head", "tail"):
        for text in run["attention"][side].values():
            weights = [float(part.split(":")[1]) for part in text.split()]
            assert sum(weights) == pytest.approx(1, abs=0.01)
            assert weights == sorted(weights, reverse=True)


def test_weights_are_written_heaviest_first() -> None:
    assert write_weights(np.array([0.0, 0.25, 0.0, 0.75], dtype=np.float32)) == "3:0.750 1:0.250"


def test_a_failed_training_is_told_and_tried_again_while_the_others_stay(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    train, words = itransf.train, ("--seeds", "0", "--models", "itransf", "dense")

    def fail(graph: Graph, config: dict[str, Any], **choices: Any) -> itransf.Run:
        if config["model"]["attention"] == "dense":
            raise itransf.ConfigError("no memory")
        return train(graph, config=config, **choices)

    with monkeypatch.context() as patch:
        patch.setattr(itransf, "train", fail)
        record = measure(*words)
    assert not record["complete"]
    assert record["runs"][1] == {"model": "dense", "seed": 0, "error": "no memory"}
    assert [model["name"] for model in record["models"]] == ["ITransF", "random"]
    again = measure(*words)
    assert again["complete"]
    assert again["runs"][0] == record["runs"][0]
    assert "error" not in again["runs"][1]


def test_no_training_is_begun_when_time_is_out(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(itransf, "train", None)
    record = measure("--seeds", "0", "--models", "itransf", "--minutes", "1e-12")
    assert not record["complete"]
    assert record["runs"] == []
    assert "1 trainings" in capsys.readouterr().out


def test_planted_supports_are_measured_for_each_size(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipes, "plant", lambda seed, **sizes: plant(seed, **{**SMALL, **sizes, "concepts": 4}))
    record = measure("--seeds", "0", "--models", "itransf", dataset="planted")
    assert [(model["support size"], model["name"]) for model in record["models"]] == [
        (1, "ITransF"),
        (1, "random"),
        (2, "ITransF"),
        (2, "random"),
    ]
    assert {finding["measure"] for model in record["models"] for finding in model["findings"]} == {"planted supports"}
    assert record["settings"]["itransf"]["model"]["concepts"] == 6
