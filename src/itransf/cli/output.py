"""Output of the commands: tables for people on stdout, JSON for programs, remarks on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

import itransf
from itransf.errors import name_count, name_first
from itransf.files import replace_nan

if TYPE_CHECKING:
    from itransf.interpret import SharedConcept

PIPE_WIDTH = 100  # columns of a table that goes into a pipe or file
PARTS = ("head", "relation", "tail")
LEAST = 0.05  # smaller weights of concepts are not listed
MOST_SHARED = 3  # concepts of a side whose sharing is listed
Columns = Mapping[str, Callable[[Any], str]]
"""Headings of a table, each with a function from an item to its cell."""


class Screen(Console):
    """A console that prints text as it is, without markup, and tables."""

    def say(self, text: str = "", style: str = "", wrap: bool = False) -> None:
        """Print a text; lines are broken only if `wrap` is true."""
        self.print(Text(text, style), soft_wrap=not wrap)

    def itemize(self, text: str, label: str = "", indent: int = 2) -> None:
        """Print an item of a list; a terminal breaks it between words and indents further lines more than the first."""
        hang = len(label) or 2
        lines = Text(text).wrap(self, max(self.width - indent - hang, 1)) if self.is_terminal else [Text(text)]
        for place, line in enumerate(lines):
            self.say(" " * indent + (" " * hang if place else label) + line.plain.rstrip())

    def tabulate(self, columns: Sequence[str], rows: Iterable[Iterable[str]], names: int = 1, title: str = "") -> None:
        """Print a table.

        Args:
            columns: Headings.
            rows: Cells as text.
            names: Number of columns, from the left, that hold words; the others hold numbers.
            title: Line above the table.
        """
        table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="")
        for place, column in enumerate(columns):
            if place < names:
                table.add_column(Text(column), overflow="fold")
            else:
                table.add_column(Text(column), justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        if title:
            self.say(title, "bold", wrap=True)
        self.print(table)

    def tabulate_each(self, items: Iterable[Any], columns: Columns, names: int = 1, title: str = "") -> None:
        """Print a table with a row for each item; for the other arguments see `tabulate`."""
        self.tabulate(tuple(columns), ((cell(item) for cell in columns.values()) for item in items), names, title)


def make_screen(stderr: bool = False) -> Screen:
    """Return a screen for stdout or stderr; wide enough for tables if that is not a terminal."""
    screen = Screen(stderr=stderr, highlight=False)
    if not screen.is_terminal:
        screen.width = max(screen.width, PIPE_WIDTH)
    return screen


def tell(content: Any, as_json: bool, show: Callable[[Screen], None]) -> None:
    """Print content as JSON for programs, or show it to a person."""
    if as_json:
        print_json(content)
    else:
        show(make_screen())


def tell_rows(
    content: Any,
    rows: Sequence[Mapping[str, Any]],
    out: Path | None,
    as_json: bool,
    show: Callable[[Screen], None],
    columns: type | Iterable[str] = (),
) -> None:
    """Write rows into a file if there is one, otherwise print them as `tell` does.

    Args:
        content: What is printed as JSON; with a file, it has their number and the file in place of lists.
        rows: The rows.
        out: File whose suffix gives the format.
        as_json: Whether to print JSON.
        show: Function that shows the content to a person.
        columns: Columns of a file without rows, by name or as the fields of a dataclass.
    """
    if out is None:
        tell(content, as_json, show)
        return
    if isinstance(columns, type):
        columns = [field.name for field in fields(columns) if field.name != "agreement"]  # it is of ensembles alone
    itransf.prediction.write_rows(rows, out, columns)
    remark(f"{name_count(len(rows), 'row')} in {out}")
    if as_json:
        about = content if isinstance(content, Mapping) else {}
        kept = {name: value for name, value in about.items() if not isinstance(value, list)}
        print_json({**kept, "rows": len(rows), "out": str(out)})


def find_label(part: str, row: Mapping[str, Any]) -> str:
    """Return the label of a part of a triple, or its name where it has no label."""
    label: str = row.get(f"{part}_label") or row[part]
    return label


TRIPLE: Columns = {part.capitalize(): partial(find_label, part) for part in PARTS}
CHANCE: Columns = {"Prob.": lambda row: format_probability(row["probability"])}
"""Columns of tables whose rows are triples."""


def add_reasons(run: itransf.Run, rows: Sequence[dict[str, Any]], explain: bool, name: str = "reason") -> None:
    """Add the reason for each triple to its row if wanted; a row with a problem has none."""
    if not explain:
        return
    reasons = iter(run.give_reasons([row for row in rows if not row.get("problem")]))
    for row in rows:
        row[name] = None if row.get("problem") else next(reasons)


def show_reasons(rows: Iterable[Mapping[str, Any]], screen: Screen, name: str = "reason") -> None:
    """Print the triples that have a reason, each with it."""
    told = [row for row in rows if row.get(name)]
    if told:
        screen.say("\nReasons" if name == "reason" else "\nWhat supports them", "bold")
    for row in told:
        triple = " – ".join(cell(row) for cell in TRIPLE.values())
        screen.itemize(f"{triple}: {row[name]}")


def print_json(content: Any) -> None:
    """Print JSON to stdout; escapes what its encoding lacks, and writes null for numbers that are not finite."""
    is_unicode = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(replace_nan(content), indent=2, ensure_ascii=not is_unicode, allow_nan=False)
    print(text, flush=True)


def remark(message: str) -> None:
    """Print a line to stderr."""
    make_screen(stderr=True).say(message)


def warn(notes: Iterable[str]) -> None:
    """Print notes about the result to stderr."""
    for note in notes:
        make_screen(stderr=True).print(Text.assemble(("Note: ", "yellow"), note), soft_wrap=True)


def describe_training(info: Mapping[str, Any]) -> str:
    """Return "20 warm-start epochs, then 10 epochs in 19 s", with those of a re-fit and of updates, if any.

    Epochs are those of each seed, the time is that of all.
    """
    warm = f"{name_count(info['warm_start_epochs'], 'warm-start epoch')}, then " if info["warm_start_epochs"] else ""
    refit = f" and {info['refit_epochs']:,} of a re-fit" if info["refit_epochs"] else ""
    update = f" and {info['update_epochs']:,} of updates" if info["update_epochs"] else ""
    seeds = " for each seed" if info.get("members") else ""
    return f"{warm}{name_count(info['epochs'], 'epoch')}{refit}{update}{seeds} in {info['seconds']:,.0f} s"


def format_number(number: float | None, decimals: int) -> str:
    """Return a number with some decimals, a dash for none."""
    return "–" if number is None or not math.isfinite(number) else f"{number:,.{decimals}f}"


def format_share(share: float | None) -> str:
    """Return a share in percent with one decimal."""
    return format_number(None if share is None else 100.0 * share, 1)


def format_probability(chance: float | None) -> str:
    """Return a probability in percent, a dash for none."""
    return "–" if chance is None else itransf.interpret.sentences.format_probability(chance)


def count_rest(rest: int, what: str, screen: Screen) -> None:
    """Print how many relations or links were left out."""
    if rest > 0:
        screen.say(f"{rest:,} more {what} are not listed: --relation selects some, --json has all.")


def show_shared(sharing: Mapping[Any, Sequence[SharedConcept]], screen: Screen, most: int | None = None) -> None:
    """Print the first concepts of each part with the other relations that use them; the only part is not named."""
    for part, concepts in sharing.items():
        for place, shared in enumerate(concepts[:most]):
            named = f"{part if place == 0 else '':4}  " if len(sharing) > 1 else ""
            screen.itemize(shared.describe(), named)


def format_uses(uses: Sequence[Mapping[str, Any]], names: Mapping[int, str], most: int = 5) -> str:
    """Return concepts and weights, such as "lies in (6) 0.98, city (14) 0.31"; small weights are left out."""
    strong = [use for use in uses if abs(use["weight"]) >= LEAST]
    call_concept = itransf.interpret.call_concept
    named = [f"{call_concept(use['concept'], names)} {format_number(use['weight'], 2)}" for use in strong]
    return name_first(named, most)
