from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.records import read_records
from benchmarks.weights import add_noise, compare

import itransf
from benchmarks import weights


def test_noise_is_added_with_low_weights() -> None:
    graph = itransf.load("world")
    noisy, size = add_noise(graph, 0.25, 0), len(graph.train)
    assert noisy.weights is not None
    assert len(noisy.train) == size + round(0.25 * size)
    assert not graph.known.contains(noisy.train[size:]).any()
    own = noisy.weights.of(noisy.train)
    assert [own[:size].mean(), own[size:].mean()] == pytest.approx([0.8, 0.2], abs=0.02)


def test_the_interval_holds_the_difference() -> None:
    rng = np.random.default_rng(0)
    first = rng.random((3, 200))
    found = compare(first, first + 0.1 + rng.normal(0, 0.05, first.shape), 0)
    assert found["low"] < found["difference"] < found["high"]
    assert found["difference"] == pytest.approx(0.1, abs=0.01)


def test_the_record_is_written_and_shown(random_graph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(entities=12, relations=5, train=60, valid=5, test=5)
    monkeypatch.setattr(itransf, "load", lambda *_, **__: graph)
    monkeypatch.setattr(weights, "RESULTS", tmp_path)
    short = ["training.epochs=1", "warm_start.epochs=1", "model.dim=4"]
    weights.main(["--seeds", "0", "1", "--settings", *short])
    page = weights.render(read_records(tmp_path)["weights"])
    assert "| with weights | 0." in page
    assert "95 % interval" in page
