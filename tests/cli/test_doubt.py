from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from cli.conftest import call


def test_doubtful_triples(run: Path, opened: Any, tmp_path: Path) -> None:
    expected = [each.to_dict() for each in opened.doubt(top=3)]
    assert json.loads(call("doubt", run, "--top", 3, "--json").out)["triples"] == expected
    shown = call("doubt", run, "--relation", "has capital", "--top", 2).out
    assert "Reason" in shown
    assert shown.count("has capital") >= 2
    assert call("doubt", run, "--top", 3, "--out", tmp_path / "doubtful.csv").code == 0
    with (tmp_path / "doubtful.csv").open(encoding="utf-8") as file:
        assert [row["reason"] for row in csv.DictReader(file)] == [each["reason"] for each in expected]
    assert call("doubt", run, "--relation", "nera").code == 2
