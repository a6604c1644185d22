from __future__ import annotations

from typing import Any

import pytest
import torch
from benchmarks.engine import (
    EPOCHS,
    FEW,
    MANY,
    describe,
    measure_assignment,
    measure_epochs,
    measure_ranking,
    render,
)
from benchmarks.records import start_record

from benchmarks import engine


def test_whole_epochs_are_timed_after_two_that_are_not() -> None:
    settings = {**EPOCHS["WN18, m 30, batch 1000"][1], "model.dim": 4, "model.concepts": 5}
    assert len(measure_epochs("world", settings, torch.device("cpu"), 2)) == 2


def test_the_assignment_step_and_ranking_are_timed(monkeypatch: pytest.MonkeyPatch, random_graph: Any) -> None:
    graph = random_graph(entities=30, relations=3, train=60, test=10)
    monkeypatch.setattr("itransf.load", lambda *_, **__: graph)
    monkeypatch.setattr(engine, "FB15K", {"model.dim": 4, "model.concepts": 5, "model.support_size": 2})
    cpu = torch.device("cpu")
    assert len(measure_assignment(cpu, 2)) == 2
    assert all(len(measure_ranking(norm, cpu, 2)) == 2 for norm in (1, 2))


def test_medians_are_held_against_the_bar() -> None:
    found = describe([3.0, 1.0, 2.0], 2.0)
    assert found["seconds"] == {"median": 2.0, "low": 1.0, "high": 3.0, "repetitions": 3}
    assert (found["bar"], found["met"]) == (2.0, True)
    assert describe([3.0], 2.0)["met"] is False
    assert describe([3.0], None)["met"] is None


def test_the_rows_that_are_compared_are_measured() -> None:
    assert {FEW, MANY} <= {f"epoch: {name}" for name in EPOCHS}


@pytest.fixture
def record() -> dict[str, Any]:
    """Return a made-up record of the engine."""
    measures = {
        "epoch: FB15k, m 300, batch 1000": (0.12, 0.15),
        "epoch: FB15k, m 15, batch 1000": (0.08, None),
        "ranking: FB15k test, l1": (0.9, 0.7),
    }
    return start_record("engine", 0, {"device": "cuda"}, ()) | {
        "measures": {
            name: {
                "seconds": {"median": median, "low": median / 2, "high": 2 * median},
                "bar": bar,
                "met": None if bar is None else median <= bar,
            }
            for name, (median, bar) in measures.items()
        }
    }


def find_lines(page: str, *words: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("|") and all(word in line for word in words)]


def test_the_engine_stands_beside_its_bars(record: dict[str, Any]) -> None:
    page = render(record)
    (epoch,) = find_lines(page, "epoch: FB15k, m 300")
    assert epoch == "| epoch: FB15k, m 300, batch 1000 | 0.1200 | 0.0600 to 0.2400 | at most 0.15 s | met |"
    (ranking,) = find_lines(page, "ranking: FB15k")
    assert ranking.endswith("| at most 0.7 s | **missed** |")
    (flat,) = find_lines(page, "m 15 against m 300")
    assert "| 1.50x |" in flat
    assert flat.endswith("| within 1.2x | **missed** |")
    record["measures"].pop("epoch: FB15k, m 15, batch 1000")
    assert not find_lines(render(record), "m 15 against m 300")
