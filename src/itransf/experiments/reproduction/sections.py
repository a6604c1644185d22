"""What people see of a result: text, tables and figures, as Markdown or for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MISSING: Final = "not measured yet"
"""What stands where a result is missing."""


@dataclass(frozen=True)
class Table:
    """Rows of text under headings.

    Attributes:
        columns: The headings.
        rows: As many cells each.
        title: A line above it.
        names: How many columns, from the left, hold words.
        kind: Tells it from a picture where the classes are not loaded.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    names: int = 1
    kind: Literal["table"] = "table"

    def to_markdown(self) -> str:
        """Return it as Markdown."""
        rule = ["---"] * self.names + ["---:"] * (len(self.columns) - self.names)
        lines = [self.columns, rule, *self.rows]
        title = f"**{self.title}**\n\n" if self.title else ""
        return title + "\n".join(f"| {' | '.join(map(_escape, line))} |" for line in lines)

    def to_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {"title": self.title, "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows]}


@dataclass(frozen=True)
class Picture:
    """A figure that can be drawn.

    Attributes:
        name: Of its file, without ending.
        caption: What it shows, in a sentence.
        draw: Returns it; needs the extra `plots`.
        kind: Tells it from a table where the classes are not loaded.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]
    kind: Literal["picture"] = "picture"


@dataclass(frozen=True)
class Section:
    """A stage's result: paragraphs, tables and pictures in order."""

    title: str
    parts: tuple[str | Table | Picture, ...]

    @property
    def tables(self) -> list[Table]:
        """Its tables."""
        return [part for part in self.parts if isinstance(part, Table)]

    @property
    def pictures(self) -> list[Picture]:
        """Its pictures."""
        return [part for part in self.parts if isinstance(part, Picture)]

    def to_markdown(self, pictures: str) -> str:
        """Return it as Markdown.

        Args:
            pictures: The folder of the pictures, as seen from the page.
        """
        return "\n\n".join([f"## {self.title}", *(_write_part(part, pictures) for part in self.parts)]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return its words and tables, ready for JSON."""
        words = [part for part in self.parts if isinstance(part, str)]
        return {"title": self.title, "text": words, "tables": [table.to_dict() for table in self.tables]}


def make_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", names: int = 1) -> Table:
    """Return a table of these rows."""
    return Table(tuple(columns), tuple(tuple(row) for row in rows), title, names)


def _write_part(part: str | Table | Picture, folder: str) -> str:
    if isinstance(part, Table):
        return part.to_markdown()
    if isinstance(part, Picture):
        return f"![{part.caption}]({folder}/{part.name}.png)\n\n*{part.caption}*"
    return part


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")
