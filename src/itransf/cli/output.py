"""What the commands print: tables for people on stdout, JSON for programs, remarks on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 100
"""Columns of a table that goes into a pipe or file, where nothing should be cut."""


def make_console(stderr: bool = False) -> Console:
    """Return a console for stdout or stderr; plain, and wide enough, when it is not a terminal."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_WIDTH)
    return console


def print_json(content: Any) -> None:
    """Print JSON to stdout, which loses no letter whatever its encoding; what is not a finite number becomes null."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(replace_nan(content), indent=2, ensure_ascii=not is_unicode, allow_nan=False)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def replace_nan(content: Any) -> Any:
    """Return nested content with None for every number JSON cannot hold."""
    if isinstance(content, dict):
        return {key: replace_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [replace_nan(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def remark(message: str, style: str = "") -> None:
    """Print a line to stderr, as it is."""
    make_console(stderr=True).print(Text(message, style), soft_wrap=True)


def warn(notes: Iterable[str]) -> None:
    """Print what is worth knowing before one trusts the result to stderr."""
    for note in notes:
        make_console(stderr=True).print(Text.assemble(("Note: ", "yellow"), note), soft_wrap=True)


def count(number: int, noun: str) -> str:
    """Return "1 epoch" or "1,000 epochs"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def make_table(*columns: str, names: int = 1) -> Table:
    """Return an empty table; the first `names` columns hold words, the others numbers.

    Args:
        columns: Their headings.
        names: How many columns, from the left, are aligned to the left and never cut.
    """
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="")
    for place, column in enumerate(columns):
        if place < names:
            table.add_column(column, overflow="fold")
        else:
            table.add_column(column, justify="right", no_wrap=True)
    return table


def fill(table: Table, rows: Iterable[Iterable[str]]) -> Table:
    """Add rows of plain text (brackets mean nothing in it) and return the table."""
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def put_title(title: str, table: Table) -> Group:
    """Return a table under a title, which may be wider than the table."""
    return Group(Text(title, "bold"), table)


def format_share(share: float | None) -> str:
    """Return a share in percent with one decimal."""
    return format_number(None if share is None else 100.0 * share, 1)


def format_number(number: float | None, decimals: int) -> str:
    """Return a number with so many decimals, a dash where there is none."""
    return "–" if number is None or not math.isfinite(number) else f"{number:,.{decimals}f}"
