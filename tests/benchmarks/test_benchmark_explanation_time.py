from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.records import read_records

from benchmarks import explanation_time


def test_the_record_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation_time, "RESULTS", tmp_path)
    explanation_time.main(["--datasets", "world", "--triples", "2", "--dim", "4"])
    record = read_records(tmp_path)["explanation_time"]
    measured = record["graphs"][0]["whole"]
    assert 0 < measured["median"] <= measured["slowest"]
    page = explanation_time.render(record)
    assert "| world | 4 | whole | " in page
    assert "| world | 4 | training triples of the head | " in page
