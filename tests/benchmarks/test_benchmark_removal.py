from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.explainers import METHODS, Question, explain_by_criage, explain_by_poisoning, list_own, replace_entity
from benchmarks.named_triples import read_triples
from benchmarks.removal import (
    MODES,
    NOTHING,
    Change,
    draw_receivers,
    list_changes,
    main,
    render,
    tabulate,
    train_changed,
)

from benchmarks import removal
from itransf.data.graph import Graph
from itransf.evaluation import rank_triples
from itransf.run import Run

RECORD = "benchmark-removal-numbers.json"


@pytest.fixture(scope="module")
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=40, relations=3, train=160, test=60)


@pytest.fixture
def measure(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_pool: type
) -> Callable[..., dict[str, Any]]:
    monkeypatch.setattr("itransf.load", lambda *_, **__: graph)
    monkeypatch.setattr("benchmarks.removal.ProcessPoolExecutor", local_pool)

    def run(*arguments: str) -> dict[str, Any]:
        settings = ["--settings", "training.epochs=1", "warm_start.epochs=6", "model.dim=4", "model.concepts=4"]
        folders = ["--results", str(tmp_path), "--runs", str(tmp_path / "runs"), "--dataset", "numbers"]
        main(["--predictions", "3", "--jobs", "3", *settings, *folders, *arguments])
        found: dict[str, Any] = json.loads((tmp_path / RECORD).read_text("utf-8"))
        return found

    return run


def test_everything_is_stored_and_a_call_that_was_cut_off_goes_on(
    measure: Callable[..., dict[str, Any]], graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = measure()
    assert 1 <= len(record["predictions"]) <= 3
    wanted = {("both", NOTHING), *((mode, method) for mode in MODES for method in METHODS)}
    assert {(one["mode"], one["method"]) for one in record["trainings"]} == wanted
    known = {tuple(triple) for triple in graph.train.tolist()}
    for prediction in record["predictions"]:
        head = prediction["triple"][0]
        assert len(prediction["receivers"]) == len(prediction["before"])
        for mode in MODES:
            for found in prediction[mode].values():
                named = read_triples(graph, found["triples"])
                assert len(named) <= 4
                assert {tuple(triple) for triple in named.tolist()} <= known
                assert all(head in (h, t) for h, _, t in found["triples"])
    cut = {**record, "trainings": record["trainings"][:4]}
    (tmp_path / RECORD).write_text(json.dumps(cut), "utf-8")
    again = measure()
    figures = [{(one["mode"], one["method"]): one["ranks"] for one in each["trainings"]} for each in (record, again)]
    assert figures[0] == figures[1]

    def refuse(*_: object) -> None:
        raise AssertionError("nothing is left to train")

    monkeypatch.setattr(removal, "train_changed", refuse)
    assert measure() == again
    with pytest.raises(AssertionError):
        measure("--fresh")


def test_a_training_has_the_changed_triples(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[Any] = []

    def train(changed: Graph, **_: Any) -> Any:
        trained.append(changed.train)
        raise KeyboardInterrupt

    monkeypatch.setattr("itransf.load", lambda *_, **__: graph)
    monkeypatch.setattr("itransf.train", train)
    gone, new = graph.train[[5, 9, 5]], np.array([[1, 0, 1], [1, 0, 1]])
    assert not graph.known.contains(new).any()
    with pytest.raises(KeyboardInterrupt):
        train_changed("numbers", {}, "cpu", Change(gone, np.concatenate([new, graph.train[:1]]), {}))
    kept = np.delete(graph.train, [5, 9], axis=0)
    assert (trained[0] == np.concatenate([kept, new[:1]])).all()


def test_explanations_are_removed_or_given_to_other_entities(graph: Graph) -> None:
    first, second = [["e1", "r0", "e2"]], [["e3", "r1", "e1"], ["e1", "r2", "e1"]]
    explained = [{method: {"triples": triples} for method in METHODS} for triples in (first, second)]
    prediction = {"triple": ["e1", "r1", "e5"], "receivers": ["e7", "e8"]}
    changes = list_changes(graph, [prediction | dict(zip(MODES, explained, strict=True))])
    removed, added = (changes[mode, "random"] for mode in MODES)
    assert (removed.gone.tolist(), removed.added.tolist()) == ([[1, 0, 2]], [])
    assert {mode: asked.tolist() for mode, asked in removed.asked.items()} == {"necessary": [[1, 1, 5]]}
    assert added.added.tolist() == [[3, 1, 7], [7, 2, 7], [3, 1, 8], [8, 2, 8]]
    assert {mode: asked.tolist() for mode, asked in added.asked.items()} == {"sufficient": [[7, 1, 5], [8, 1, 5]]}
    nothing = changes["both", NOTHING]
    assert (len(nothing.gone), len(nothing.added), set(nothing.asked)) == (0, 0, set(MODES))


@pytest.fixture(scope="module", params=["icomplex", "transe"])
def run(request: pytest.FixtureRequest, graph: Graph, short: Callable[..., Run]) -> Run:
    settings = ["training.optimizer=adagrad", "loss.name=cross_entropy", "training.epochs=20"]
    found = short(graph, request.param, *settings)
    found.model.double()
    return found


def test_receivers_have_no_such_triple_and_do_not_rank_it_first(run: Run) -> None:
    triple = tuple(run.graph.test[0].tolist())
    found = draw_receivers(run, triple, np.random.default_rng(0))
    assert len(set(found.tolist())) == len(found) == 10
    asked = np.array([(entity, *triple[1:]) for entity in found.tolist()])
    assert not run.graph.known.contains(asked).any()
    assert (rank_triples(run.model, asked, run.graph.known).ranks("tail") > 1).all()


def ask(run: Run, receivers: list[int]) -> Question:
    triple = tuple(run.graph.test[0].tolist())
    rng = np.random.default_rng(0)
    return Question(run, triple, list_own(run.graph, triple[0]), np.array(receivers, dtype=np.int64), rng)


def differentiate(model: Any, triple: Any, entity: int) -> torch.Tensor:
    """Return the gradient of a score by the embedding of an entity."""
    model.zero_grad()
    model.score(*torch.tensor([triple]).T).sum().backward()
    gradient: torch.Tensor = model.entities.grad.to_dense()[entity].clone()
    model.zero_grad()
    return gradient


@pytest.mark.parametrize("receivers", [[], [11, 12]])
def test_poisoning_takes_what_a_small_step_changes_most(run: Run, receivers: list[int]) -> None:
    question, model = ask(run, receivers), run.model
    values = np.zeros(len(question.own))
    for entity in receivers or [question.triple[0]]:
        asked = replace_entity(np.array([question.triple]), question.triple[0], entity)[0].tolist()
        own = differentiate(model, asked, entity)
        moved = replace_entity(question.own, question.triple[0], entity).tolist()
        values += [float(differentiate(model, other, entity) @ own) for other in moved]
    before = model.entities.detach().clone()
    found = explain_by_poisoning(question)
    assert torch.equal(model.entities, before)
    if run.config.name == "icomplex":  # whose scores are linear in an embedding
        assert found.tolist() == question.own[np.argsort(-values, kind="stable")[:4]].tolist()
    assert found.shape == (4, 3)


@pytest.mark.parametrize("receivers", [[], [11, 12]])
def test_criage_takes_what_newton_steps_change_most(run: Run, receivers: list[int]) -> None:
    question, model = ask(run, receivers), run.model
    values = np.zeros(len(question.own))
    for entity in receivers or [question.triple[0]]:
        asked = replace_entity(np.array([question.triple]), question.triple[0], entity)[0].tolist()
        gradient = differentiate(model, asked, entity).numpy()
        hessian, own = np.zeros((len(gradient), len(gradient))), list_own(run.graph, entity).tolist()
        for triple in own:
            x, p = differentiate(model, triple, entity).numpy(), believe(model, triple)
            hessian += p * (1 - p) * np.outer(x, x)
        hessian += np.eye(len(gradient)) * np.trace(hessian) / min(len(gradient), len(own))
        for place, triple in enumerate(replace_entity(question.own, question.triple[0], entity).tolist()):
            x, p = differentiate(model, triple, entity).numpy(), believe(model, triple)
            changed = hessian + (1 if receivers else -1) * p * (1 - p) * np.outer(x, x)
            values[place] += (1 - p) * gradient @ np.linalg.inv(changed) @ x
    assert explain_by_criage(question).tolist() == question.own[np.argsort(-values, kind="stable")[:4]].tolist()


def believe(model: Any, triple: Any) -> float:
    with torch.no_grad():
        return float(torch.sigmoid(model.score(*torch.tensor([triple]).T)))


def test_figures_are_differences_to_the_trained_model() -> None:
    explained = {method: {"triples": [], "ms": 2.0} for method in METHODS}
    one = {"triple": ["a", "r", "b"], "before": [0.5, 0.25], "necessary": explained, "sufficient": explained}
    trainings = [
        {"mode": "necessary", "method": "random", "changed": 3, "ranks": {"necessary": [0.5, 1.0]}},
        {"mode": "sufficient", "method": "random", "changed": -8, "ranks": {"sufficient": [1.0, 0.25, 0.5, 0.5]}},
    ]
    record: dict[str, Any] = {
        "config": {"dataset": "wn18rr"},
        "command": "python -m benchmarks.removal",
        "date": "2026-01-02T00:00:00+00:00",
        "seed": 0,
        "git": {"commit": "abcdef0123456", "dirty": False},
        "hardware": {"cores": 2, "cpu": "some", "platform": "any", "memory_bytes": None, "load_before": 0.1},
        "versions": {"torch": "2"},
        "settings": {"model": {"name": "icomplex"}},
        "base": {"mrr": 0.5, "hits@1": 0.4, "hits@10": 0.7},
        "predictions": [one, one],
        "trainings": trainings,
    }
    rows = {row[0]: row[1:] for row in tabulate(record)}
    assert rows["random"] == ["-3", "-0.500", "-0.250", "8", "+0.250", "+0.188", "2.0", "2"]
    assert rows["Criage"] == [*[""] * 6, "2.0", "2"]
    shown = render(record)
    assert "| random | -3 | -0.500 |" in shown
    assert "-0.98, -0.91" in shown
    assert "Hits@1 40.0" in shown
