from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import call


def test_names_and_labels_with_typos(run: Path, tmp_path: Path) -> None:
    done = call("find", run, "Rmoe", "--json")
    (found,) = json.loads(done.out)["found"]
    assert (found["name"], found["label"], found["match"]) == ("Roma", "Rome", "similar")
    shown = call("find", run, "Rmoe").out
    assert "Rome" in shown
    assert "Label" in shown
    done = call("find", run, "rome", "--out", tmp_path / "found.jsonl")
    assert "1 row in" in done.err
    assert [json.loads(line)["name"] for line in (tmp_path / "found.jsonl").read_text().splitlines()] == ["Roma"]
    assert json.loads(call("find", run, "rome", "--json", "--out", tmp_path / "found.csv").out)["rows"] == 1


def test_nothing_found(run: Path) -> None:
    assert "Nothing is similar to 'xyzzy'" in call("find", run, "xyzzy").out
    assert call("find", run, "").code == 2


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


def test_missing_triples(run: Path, opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [each.to_dict() for each in opened.missing(top=30, explain=True)]
    assert json.loads(call("missing", run, "--top", 30, "--explain", "--json").out)["triples"] == expected
    assert all(each["reason"] for each in expected)
    monkeypatch.setattr("itransf.cli.questions.MOST_SHOWN", 1)
    done = call("missing", run)
    assert "Prob." in done.out
    assert "Reason" not in done.out
    assert f"{len(opened.missing()) - 1} more: --out FILE writes all, --top N shows N" in done.err
    done = call("missing", run, "--top", 3)
    assert "more" not in done.err
    assert len(done.out.splitlines()) == len(call("missing", run).out.splitlines()) + 2
    assert call("missing", run, "--top", 0).code == 2
    done = call("missing", run, "--entity", "Torino", "--relation", "near", "--out", tmp_path / "new.jsonl")
    assert done.code == 0
    rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows
    assert all("Torino" in (row["head"], row["tail"]) and row["relation"] == "near" for row in rows)
    assert [path.name for path in tmp_path.iterdir()] == ["new.jsonl"]
    assert call("missing", run, "--out", tmp_path / "new.xlsx").code == 2


def test_an_entity(run: Path, opened: Any) -> None:
    assert json.loads(call("show", run, "Rome", "--top", 2, "--json").out) == opened.show("Roma", 2)
    shown = call("show", run, "Italy").out
    assert all(word in shown for word in ("Known", "Predicted", "Near, by embedding", "city_in", "Torino"))
    assert call("show", run, "Rmoe").code == 2


def test_two_runs(run: Path, opened: Any, tmp_path: Path) -> None:
    assert json.loads(call("diff", run, run, "--json").out) == opened.diff(opened)
    shown = call("diff", run, run).out
    assert "6 held-out queries" in shown
    assert "0 ranks changed" in shown
    assert "The graph changed" not in shown
    assert "4 of 4 concepts are found again." in shown
    opened.learn_relation("twin_of", [("Roma", "Paris")]).save(tmp_path / "new")
    assert "The graph changed: triples added 1, relations added 1." in call("diff", run, tmp_path / "new").out
