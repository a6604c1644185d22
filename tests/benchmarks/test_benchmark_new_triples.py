from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.new_triples import main, read_verdicts

from benchmarks import new_triples
from itransf.prediction import MissingTriple


def make_discovery(head: str, tail: str) -> MissingTriple:
    names = (head, "largest_city_of", tail)
    return MissingTriple(*names, *names, 0.9, 3.0, "reason")


def test_new_triples_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [make_discovery("Nuuk", "Greenland"), make_discovery("Valletta", "Malta"), make_discovery("Rome", "France")]
    monkeypatch.setattr(new_triples, "find_discoveries", lambda _: found)
    monkeypatch.setattr("itransf.train", lambda *_, **__: None)
    main(["--seeds", "3", "--results", str(tmp_path)])
    record = json.loads((tmp_path / "benchmark-new-triples.json").read_text(encoding="utf-8"))
    assert [each["is_true"] for each in record["triples"]] == [True, False, None]
    assert "1 of 3 different triples are true" in new_triples.render(record)


def test_verdicts_have_sources_and_names_of_world() -> None:
    graph = new_triples.itransf.load("world")
    for (head, relation, tail), entry in read_verdicts().items():
        assert graph.entities.has_name(head)
        assert graph.entities.has_name(tail)
        assert graph.relations.has_name(relation)
        assert entry["source"]


def test_most_of_what_the_demo_printed_is_true() -> None:
    record = json.loads((new_triples.RESULTS / "benchmark-new-triples.json").read_text(encoding="utf-8"))
    by_seed: dict[int, list[bool]] = {}
    for each in record["triples"]:
        by_seed.setdefault(each["seed"], []).append(each["is_true"] is True)
    for verdicts in by_seed.values():
        assert 3 <= len(verdicts) <= 10
        assert sum(verdicts) >= 0.7 * len(verdicts)
