from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from itransf.errors import MissingExtraError
from itransf.experiments.reproduction.drawing import start_figure, write_picture
from itransf.experiments.reproduction.sections import Picture, Section, make_table

TABLE = make_table(("Name", "a|b"), [("x", "1"), ("y", "2")], title="Both")


def draw() -> Any:
    figure, panels = start_figure(2)
    panels[0].plot([1, 2], [3, 4])
    return figure


PICTURE = Picture("curve", "A curve.", draw)


def test_a_section_is_markdown() -> None:
    section = Section("Things", ("Some words.", TABLE, PICTURE))
    assert section.to_markdown("page") == (
        "## Things\n\nSome words.\n\n**Both**\n\n"
        "| Name | a\\|b |\n| --- | ---: |\n| x | 1 |\n| y | 2 |\n\n"
        "![A curve.](page/curve.png)\n\n*A curve.*\n"
    )
    assert (section.tables, section.pictures) == ([TABLE], [PICTURE])


def test_a_section_is_json() -> None:
    found = Section("Things", ("Some words.", TABLE, PICTURE)).to_dict()
    rows = [{"Name": "x", "a|b": "1"}, {"Name": "y", "a|b": "2"}]
    assert found == {"title": "Things", "text": ["Some words."], "tables": [{"title": "Both", "rows": rows}]}


def test_a_picture_is_written_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first, second = (write_picture(PICTURE, tmp_path / name) for name in ("one", "two"))
    assert first == tmp_path / "one" / "curve.png"
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(b"\x89PNG")


def test_a_picture_names_the_extra_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"itransf\[plots\]"):
        write_picture(PICTURE, tmp_path)
