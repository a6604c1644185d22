from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from benchmarks.named_triples import gather, main, read_triples, write_triples

from itransf.data.graph import Graph


class Pool:
    """Runs what is submitted at once, in this process."""

    def __init__(self, jobs: int, context: object, initializer: object, initargs: tuple[int, ...]) -> None:
        assert (jobs, initargs) == (3, (2,))

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None: ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        assert cancel_futures


@pytest.fixture
def measure(
    random_graph: Callable[..., Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., dict[str, Any]]:
    graph = random_graph(entities=40, relations=3, train=120)
    monkeypatch.setattr("itransf.load", lambda *_, **__: graph)
    monkeypatch.setattr("benchmarks.named_triples.ProcessPoolExecutor", Pool)

    def run(*arguments: str) -> dict[str, Any]:
        settings = ["--settings", "training.epochs=1", "model.dim=4"]
        sizes = ["--predictions", "3", "--at-once", "2", "--controls", "2", "--jobs", "3", "--threads", "2"]
        main([*sizes, *settings, "--results", str(tmp_path), *arguments])
        found: dict[str, Any] = json.loads((tmp_path / "interpretation-named-triples.json").read_text("utf-8"))
        return found

    return run


def test_everything_is_stored_and_a_second_call_trains_nothing(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = measure()
    assert record["complete"]
    groups = {one["group"] for one in record["predictions"]}
    done = sorted((one["condition"], one["number"]) for one in record["trainings"])
    wanted = [(condition, group) for condition in ("named", "random") for group in groups]
    assert done == sorted([("nothing", 0), ("nothing", 1), *wanted])
    assert record["finding"]["n"] == len(record["predictions"]) == 3
    assert record["settings"]["training"]["epochs"] == 1

    def refuse(*_: object) -> None:
        raise AssertionError("nothing is left to train")

    monkeypatch.setattr("benchmarks.named_triples.plan", refuse)
    monkeypatch.setattr("benchmarks.named_triples.train_without", refuse)
    assert measure() == record
    with pytest.raises(AssertionError):
        measure("--anew")


def test_a_call_that_was_cut_off_goes_on(
    measure: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = measure()
    path = tmp_path / "interpretation-named-triples.json"
    path.write_text(json.dumps({**whole, "trainings": whole["trainings"][:3], "complete": False}), "utf-8")
    again = measure()
    assert again["complete"]
    assert again["finding"] == whole["finding"]
    assert again["predictions"] == whole["predictions"]


def test_ranks_find_their_predictions() -> None:
    record = {
        "predictions": [{"group": group, "before": 1.0} for group in (0, 1, 0)],
        "trainings": [
            {"condition": "nothing", "number": 0, "reciprocal ranks": [0.1, 0.2, 0.3]},
            {"condition": "nothing", "number": 1, "reciprocal ranks": [0.3, 0.4, 0.5]},
            {"condition": "named", "number": 0, "reciprocal ranks": [0.5, 0.7]},
            {"condition": "random", "number": 0, "reciprocal ranks": [0.6, 0.8]},
            {"condition": "named", "number": 1, "reciprocal ranks": [0.9]},
        ],
    }
    first, second = gather(record)
    assert (first["named"], first["random"], second["named"], second["random"]) == (0.5, 0.6, 0.7, 0.8)
    assert (first["nothing"], second["nothing"]) == pytest.approx((0.2, 0.4))
    assert gather({**record, "trainings": record["trainings"][2:]}) == []


def test_triples_are_written_and_read(random_graph: Callable[..., Graph]) -> None:
    graph = random_graph()
    assert (read_triples(graph, write_triples(graph, graph.train)) == graph.train).all()
    assert read_triples(graph, []).shape == (0, 3)
