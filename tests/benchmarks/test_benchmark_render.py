from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.markdown import put_tables
from benchmarks.records import DOCS, RESULTS
from benchmarks.render import PAGES, main, render, render_all

MARKS = "<!-- begin: tables -->\n<!-- end: tables -->\n"


def test_sections_are_rendered_in_order_and_other_records_ignored() -> None:
    sections = {"b": lambda record: f"B {record['n']}", "a": lambda record: "A"}
    records = {"x": {"benchmark": "a"}, "y": {"benchmark": "b", "n": 1}, "z": {"benchmark": "c"}}
    assert render(records, sections) == "B 1\nA"
    assert "Nothing is measured" in render({}, sections)


def test_the_command_writes_every_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (*PAGES, "interpretation", "reliability"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\n{MARKS}", encoding="utf-8")
    main(["--results", str(tmp_path), "--docs", str(tmp_path)])
    assert "Nothing is measured" in (tmp_path / "performance.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out.count("wrote") == len(PAGES) + 2


@pytest.mark.parametrize(("name", "tables"), list(render_all(RESULTS)), ids=lambda value: str(value)[:12])
def test_the_pages_show_what_the_stored_records_give(name: str, tables: str) -> None:
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert page == put_tables(page, tables), "run: python -m benchmarks.render"
