from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.records import read_records

import itransf
from benchmarks import updates
from itransf.data.graph import Graph

SETTINGS = ["training.epochs=1", "warm_start.epochs=1", "model.dim=4"]


@pytest.fixture
def graph(random_graph: Any) -> Graph:
    made: Graph = random_graph(entities=20, relations=4, train=200, valid=20, test=40)
    return made


def test_what_is_held_back_comes_when_its_entities_are_known(graph: Graph) -> None:
    held = updates.hold_back(graph, 0.2, 3, 0)
    known = set(held.base.entities.names)
    assert len(graph.entities) - len(known) == 4
    given = updates.name_all(held.base, held.base.train)
    for part in held.parts:
        given += part
        new = {end for head, _, tail in part for end in (head, tail)} - known
        assert 1 <= len(new) <= 2
        known |= new
    assert sorted(given) == sorted(updates.name_all(graph, graph.train))
    assert {end for head, _, tail in held.base.test for end in (head, tail)} <= set(range(16))


def test_old_triples_are_ranked_among_old_entities(graph: Graph) -> None:
    held = updates.hold_back(graph, 0.2, 3, 0)
    run = itransf.train(held.base, settings=SETTINGS, progress=False)
    before = updates.judge(run.model, held.base, held)
    grown = run.update([triple for part in held.parts for triple in part], epochs=0)
    after = updates.judge(grown.model, grown.graph, held)
    assert before["old"] == after["old"]
    tests = updates.number_all(grown.graph, held.test)
    new = (tests[:, [0, 2]] >= len(held.base.entities)).any(1)
    known = grown.graph.known_in("train")
    assert 0 < new.sum() < len(tests) == len(graph.test)
    assert not known.contains(tests).any()
    old = updates.measure(grown.model, grown.graph, tests[~new], held.answers)
    assert after["all"] == pytest.approx(np.average([after["new"], old], weights=[new.sum(), (~new).sum()]))


def test_everything_is_measured_stored_and_shown(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(itransf, "load", lambda *_, **__: graph)
    asked = ["--parts", "2", "--epochs", "1", "--runs", str(tmp_path / "runs"), "--results", str(tmp_path)]
    asked += ["--dataset", "small", "--settings", *SETTINGS]
    updates.main([*asked, "--minutes", "1e-9"])
    assert not (tmp_path / "benchmark-updates-small.json").exists()
    updates.main(asked)
    record = read_records(tmp_path)["updates-small"]
    assert list(record["figures"]) == ["before", "updated", "again", "in parts"]
    page = updates.render(record)
    assert "| in 2 updates |" in page
    assert page.count("met") + page.count("missed") == 4
    monkeypatch.setattr(updates.Measurement, "_update", lambda _: pytest.fail("it is stored"))
    updates.main(asked)
    del record["figures"]["in parts"]
    assert "not complete" in updates.render(record)
