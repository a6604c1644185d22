from __future__ import annotations

import json
from pathlib import Path

from cli.conftest import call


def test_names_and_labels_with_typos(run: Path, tmp_path: Path) -> None:
    done = call("find", run, "Rmoe", "--json")
    (found,) = json.loads(done.out)["found"]
    assert (found["name"], found["label"], found["match"]) == ("Roma", "Rome", "similar")
    shown = call("find", run, "Rmoe").out
    assert "Rome" in shown
    assert "Label" in shown
    assert "Label" not in call("find", run, "Lyon").out
    done = call("find", run, "rome", "--out", tmp_path / "found.jsonl")
    assert "1 row in" in done.err
    assert [json.loads(line)["name"] for line in (tmp_path / "found.jsonl").read_text().splitlines()] == ["Roma"]
    assert json.loads(call("find", run, "rome", "--json", "--out", tmp_path / "found.csv").out)["rows"] == 1


def test_nothing_found(run: Path) -> None:
    assert "Nothing is similar to 'xyzzy'" in call("find", run, "xyzzy").out
    assert call("find", run, "").code == 2
