from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.records import read_records

import itransf
from benchmarks import ensembles
from itransf.data.graph import Graph


@pytest.fixture
def _small(random_graph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure a small graph with short trainings, and write to an empty folder."""
    graph: Graph = random_graph(entities=12, relations=5, train=60, valid=5, test=5)
    train = itransf.train

    def train_shortly(graph: Graph, **choices: Any) -> Any:
        return train(graph, settings=["training.epochs=1", "warm_start.epochs=1", "model.dim=4"], **choices)

    monkeypatch.setattr(itransf, "load", lambda *_, **__: graph)
    monkeypatch.setattr(itransf, "train", train_shortly)
    monkeypatch.setattr(ensembles, "RESULTS", tmp_path)


@pytest.mark.usefixtures("_small")
def test_members_and_ensemble_are_stored_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["ensembles", "--dataset", "small", "--seeds", "2"])
    ensembles.main()
    record = read_records(tmp_path)["ensembles-small"]
    assert [len(record[key]) for key in ("members", "ensemble")] == [2, 1]
    assert 0 <= record["found by chance"] <= 1
    page = ensembles.render(record)
    assert "| all seeds together |" in page
    assert f"{record['found']:.0%} are found in another seed" in page


@pytest.mark.usefixtures("_small")
def test_the_same_seed_has_the_same_concepts() -> None:
    run = itransf.train(itransf.load(), progress=False)
    found = ensembles.find_shares([run.concepts(), run.concepts()], 3)
    assert found["found"] == 1.0
    assert found["found by chance"] < 1.0
