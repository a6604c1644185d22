from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import itransf
from cli.conftest import call
from itransf.cli.models import describe_model
from itransf.registry import MODELS


@pytest.fixture(scope="module")
def listed() -> dict[str, Any]:
    done = call("models", "world", "--json")
    assert done.code == 0, done.err
    return {model["name"]: model for model in json.loads(done.out)}


def test_every_model_is_listed_with_its_formula_and_paper(listed: dict[str, Any]) -> None:
    assert list(listed) == list(MODELS)
    for model in listed.values():
        assert model["formula"]
        assert model["paper"] is None or model["paper"]["link"].startswith("https://")
        assert model["source"] is None
    shown = call("models").out
    assert all(model["formula"] in shown for model in listed.values())
    assert all(model["paper"]["title"] in shown for model in listed.values() if model["paper"])
    assert [name for name, model in listed.items() if not model["paper"]] == ["icomplex", "ilineare"]  # from here
    assert "parameters" not in shown


@pytest.mark.parametrize(
    ("name", "can"),
    [
        ("transe", {"fast ranking", "parts of scores", "fast training", "new entities", "new relations"}),
        ("stranse", {"fast ranking", "parts of scores", "fast training", "new entities"}),
        ("itransf", {"fast ranking", "concepts", "parts of scores", "fast training", "new entities", "new relations"}),
        ("distmult", {"fast ranking", "parts of scores", "fast training", "new entities", "new relations"}),
        ("ntn", {"new entities"}),
    ],
)
def test_what_a_model_can_do(name: str, can: set[str], listed: dict[str, Any]) -> None:
    assert {capability for capability, has_it in listed[name]["capabilities"].items() if has_it} == can


def test_parameters_are_counted_on_a_graph(listed: dict[str, Any]) -> None:
    graph = itransf.load("world")
    dim = itransf.run.resolve_config(graph, settings=["model.name=transe"]).model.dim
    assert listed["transe"]["parameters"] == (len(graph.entities) + len(graph.relations)) * dim
    assert f"{listed['transe']['parameters']:,} parameters on world" in call("models", "world").out


def test_a_model_of_the_user_shows_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "own_model.py").write_text(
        "from itransf.models import TransE\nclass Mine(TransE):\n    'My formula.'\n    paper = None\n"
    )
    found = describe_model("own_model:Mine", None)
    assert (found["formula"], found["paper"], found["source"]) == ("My formula", None, "own_model:Mine")
    assert not found["capabilities"]["fast training"]
    assert "own_model:Mine" in call("--plugin", "own_model:Mine", "models").out
    assert "own_model:Mine" not in call("models").out
