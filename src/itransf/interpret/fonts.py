"""Fonts for pictures: those installed here that have the letters of all names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from itransf.errors import MissingExtraError

FIRST = "DejaVu Sans"
"""The font that comes with matplotlib and is used for every letter it has."""


def choose_fonts(texts: Iterable[str]) -> tuple[list[str], str]:
    """Return font families that together have the letters of these texts, and the letters none of them has.

    Most names need only matplotlib's own font; others are looked for where that lacks a letter.
    """
    manager = load_font_manager().fontManager
    by_name = {
        entry.name: entry.fname for entry in sorted(manager.ttflist, key=lambda entry: (entry.name, entry.fname))
    }
    missing = {letter for text in texts for letter in text if not letter.isspace()} - read_letters(by_name[FIRST])
    families = [FIRST]
    for name, path in by_name.items():
        if not missing or name.startswith("Last Resort"):  # that one has a box for every letter
            continue
        found = missing & read_letters(path)
        if found:
            families.append(name)
            missing -= found
    return families, "".join(sorted(missing))


def read_letters(path: str) -> set[str]:
    """Return the letters a font file has; none if it cannot be read."""
    try:
        return {chr(code) for code in load_font_manager().get_font(path).get_charmap()}
    except (OSError, RuntimeError):
        return set()


def load_font_manager() -> Any:
    """Return matplotlib's knowledge of fonts."""
    try:
        import matplotlib.font_manager  # noqa: PLC0415 (an optional extra)
    except ImportError:
        raise MissingExtraError("drawing a heat map", "plots") from None
    return matplotlib.font_manager
