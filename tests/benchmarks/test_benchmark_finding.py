from __future__ import annotations

import random
from pathlib import Path

import pytest
from benchmarks.finding import make_names, misspell
from benchmarks.records import read_records

from benchmarks import finding


def test_names_are_distinct_and_a_typo_changes_one() -> None:
    rng = random.Random(0)
    names = make_names(200, rng)
    assert len(set(names)) == 200
    for name in names:
        changed = [misspell(name, rng) for _ in range(5)]
        assert all(abs(len(each) - len(name)) <= 1 for each in changed)
        assert set(changed) != {name}


def test_the_record_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "RESULTS", tmp_path)
    finding.main(["--names", "60", "--questions", "8"])
    record = read_records(tmp_path)["finding"]
    assert record["figures"]["name"]["found"] == 1
    page = finding.render(record)
    assert "`find` among 60 names" in page
    assert "| typo | " in page
    slow = {kind: {**figures, "longest": 1.0} for kind, figures in record["figures"].items()}
    assert "**missed**" in finding.render({**record, "figures": slow})
