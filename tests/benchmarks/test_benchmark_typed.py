from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.records import read_records

from benchmarks import typed


def test_planted_relations_have_one_type_on_each_side(tmp_path: Path) -> None:
    graph, given = typed.plant(tmp_path, 0.2, 0)
    assert given.types is not None
    kinds = np.zeros(len(graph.entities), dtype=np.int64)
    kinds[given.types.members[:, 0]] = given.types.members[:, 1]
    for relation in range(len(graph.relations)):
        for side, column in (("head", 0), ("tail", 2)):
            own = kinds[graph.train[graph.train[:, 1] == relation, column]]
            assert len(set(own)) == 1
            assert set(given.typing.candidates(relation, side)) == set(np.flatnonzero(kinds == own[0]))


def test_the_record_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed, "ENTITIES", 60)
    monkeypatch.setattr(typed, "RELATIONS", 5)
    monkeypatch.setattr(typed, "RESULTS", tmp_path)
    typed.main(["--seeds", "0", "--settings", "training.epochs=1", "model.dim=4"])
    page = typed.render(read_records(tmp_path)["typed"])
    assert page.count("candidates: ") == page.count("negatives: ") == 3
    assert "| candidates: given types | 0." in page
