"""Rows of every command that lists some: into a file with --out, with reasons by --explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import call, write_triples

ROWS = {
    "predict": (("RUN", "--head", "Italy", "--relation", "P36", "--more", "--explain"), "predictions"),
    "score": (("RUN", "triples.tsv", "--explain"), "triples"),
    "classify": (("RUN", "triples.tsv", "--explain"), "triples"),
    "doubt": (("RUN", "--top", "3", "--explain"), "triples"),
    "missing": (("RUN", "--top", "3", "--explain"), "triples"),
    "find": (("RUN", "Rmoe"), "found"),
    "diff": (("RUN", "OTHER"), "answers"),
    "evaluate": (("RUN", "--relations"), "relations"),
    "relation": (("RUN", "near"), "inverse"),
    "runs": (("RUN",), ""),
    "data": (("info", "world"), "relation_table"),
}


@pytest.mark.parametrize("command", ROWS)
def test_a_file_has_the_rows_of_json(
    command: str, run: Path, transe_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("itransf.prediction.classification.LEAST_QUESTIONS", 1)
    write_triples(tmp_path / "triples.tsv", [("Lyon", "near", "Paris"), ("Lyonn", "near", "Rome")])
    words, name = ROWS[command]
    asked = (command, *({"RUN": run, "OTHER": transe_run}.get(word, word) for word in words))
    content = json.loads(call(*asked, "--json").out)
    expected = content[name] if name else content
    done = call(*asked, "--json", "--out", "rows.jsonl")
    assert json.loads(done.out).keys() >= {"rows", "out"}
    rows = read_lines(tmp_path / "rows.jsonl")
    if command == "relation":
        rows = [{key: value for key, value in row.items() if key != "role"} for row in rows if row["role"] == name]
    assert expected
    assert rows == expected
    assert call(*asked, "--out", "rows.csv").code == call(*asked, "--out", "rows.parquet").code == 0
    assert (tmp_path / "rows.csv").read_text(encoding="utf-8").count("\n") > len(expected)


@pytest.mark.parametrize(
    ("words", "header"),
    [
        (("predict", "RUN", "--head", "Lyon", "--relation", "city_in"), "head,relation,tail,head_label,"),
        (("find", "RUN", "qqqqq"), "kind,name,label,match,triples"),
        (("diff", "RUN", "RUN"), "head,relation,tail,asked,ranks,best"),
        (("missing", "RUN", "--relation", "city_in", "--entity", "Lyon"), "head,relation,tail,head_label,"),
        (("runs", "EMPTY"), "run,state,id"),
    ],
)
def test_a_file_without_rows_has_a_header(words: tuple[str, ...], header: str, run: Path, tmp_path: Path) -> None:
    done = call(*({"RUN": run, "EMPTY": tmp_path}.get(word, word) for word in words), "--out", tmp_path / "rows.csv")
    assert done.code == 0, done.err
    (line,) = (tmp_path / "rows.csv").read_text(encoding="utf-8").splitlines()
    assert line.startswith(header)


def test_an_entity_is_written_in_parts(run: Path, opened: Any, tmp_path: Path) -> None:
    expected = opened.show("Roma", 2)
    assert call("show", run, "Rome", "--top", 2, "--explain", "--out", tmp_path / "rome.jsonl").code == 0
    rows = read_lines(tmp_path / "rome.jsonl")
    counts = {part: sum(row["part"] == part for row in rows) for part in ("known", "predicted", "near")}
    assert counts == {part: len(expected[part]) for part in counts}
    predicted = [row for row in rows if row["part"] == "predicted"]
    assert [row["reason"] for row in predicted] == opened.give_reasons(predicted)


def test_the_ranks_of_an_evaluation(run: Path, opened: Any, tmp_path: Path) -> None:
    out = tmp_path / "ranks.jsonl"
    assert call("evaluate", run, "--out", out, "--explain").code == 0
    rows, found = read_lines(out), opened.evaluate()
    triples = [(row["head"], row["relation"], row["tail"]) for row in rows]
    scored = opened.score(triples)
    assert [row["tail_rank"] for row in rows] == [each.tail_rank for each in scored]
    assert [row["reason"] for row in rows] == opened.give_reasons(triples)
    ranks = [rank for side in ("head", "tail") for rank in (row[f"standard_{side}_rank"] for row in rows)]
    assert sum(1 / rank for rank in ranks) / len(ranks) == pytest.approx(found["mrr"])
    assert call("evaluate", run, "--explain").code == 2


def test_what_supports_a_doubtful_triple_is_shown(run: Path, opened: Any) -> None:
    told = " ".join(call("doubt", run, "--top", 1, "--explain").out.split())
    assert "What supports them " in told
    assert opened.give_reasons(opened.doubt(top=1))[0] in told


def test_a_row_with_a_problem_has_no_reason(run: Path, tmp_path: Path) -> None:
    path = write_triples(tmp_path / "triples.tsv", [("Lyonn", "near", "Rome"), ("Lyon", "near", "Paris")])
    unknown, known = json.loads(call("score", run, path, "--explain", "--json").out)["triples"]
    assert unknown["reason"] is None
    assert known["reason"]


def test_a_file_without_answers_says_why(run: Path, tmp_path: Path) -> None:
    done = call("predict", run, "--head", "Lyon", "--relation", "city_in", "--out", tmp_path / "none.csv")
    assert "Already in train: Lyon – city_in – France" in done.err
    assert "--more" in done.err
    assert "0 rows in" in done.err


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
