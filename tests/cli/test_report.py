from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.conftest import call
from interpret.pages_checking import check_page


def test_a_report_is_written_and_its_place_told(run: Path, tmp_path: Path) -> None:
    done = call("report", run, "--out", tmp_path / "report.html")
    assert done.code == 0, done.err
    assert f"The report is in {tmp_path / 'report.html'}" in done.out
    assert "ranking" in done.err
    text = "".join(check_page((tmp_path / "report.html").read_text(encoding="utf-8")).text)
    assert "has capital" in text
    assert "MRR on test" in text


def test_json_tells_place_and_size_alone(run: Path, tmp_path: Path) -> None:
    done = call("report", run, "--out", tmp_path / "report.html", "--split", "valid", "--triples", "1", "--json")
    content = json.loads(done.out)
    assert content == {"report": str(tmp_path / "report.html"), "bytes": (tmp_path / "report.html").stat().st_size}
    assert done.err == ""


def test_a_model_without_concepts_has_a_report_too(transe_run: Path, tmp_path: Path) -> None:
    done = call("report", transe_run, "--out", tmp_path / "report.html")
    assert done.code == 0, done.err


@pytest.mark.parametrize(("name", "message"), [("report.pdf", "written as .html"), ("report", "written as .html")])
def test_mistakes_are_misuse(name: str, message: str, run: Path, tmp_path: Path) -> None:
    done = call("report", run, "--out", tmp_path / name)
    assert done.code == 2
    assert message in done.err


def test_a_place_that_cannot_be_is_told_before_the_work(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("itransf.interpret.report.gather_content")
    (tmp_path / "page.html").mkdir()
    done = call("report", run, "--out", tmp_path / "page.html")
    assert done.code == 1
    assert "is a folder; name a file in it" in done.err
