"""Comparing what people see with what they saw when it was last looked at.

Set ITRANSF_UPDATE_GOLDEN=1 to write the files anew, then read the difference before keeping it.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

from itransf.cli.output import Screen

FOLDER = Path(__file__).parent


def check_golden(name: str, text: str) -> None:
    """Compare a text with the golden file of this name; spaces at the end of lines do not count."""
    path = FOLDER / name
    shown = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n") + "\n"
    if os.environ.get("ITRANSF_UPDATE_GOLDEN"):
        path.write_text(shown, encoding="utf-8")
    assert path.is_file(), f"there is no {path.name}: run the test with ITRANSF_UPDATE_GOLDEN=1"
    assert shown == path.read_text(encoding="utf-8")


def make_paper(width: int = 80) -> tuple[Screen, io.StringIO]:
    """Return a screen of a fixed width, and what is printed on it."""
    paper = io.StringIO()
    return Screen(file=paper, width=width, highlight=False, color_system=None), paper
