"""A table of triples as names, before they are numbered, that knows where each row came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, replace

import pyarrow as pa

from itransf.data.texts import check_text
from itransf.errors import DataError

COLUMNS = ("head", "relation", "tail")


@dataclass(frozen=True)
class TripleTable:
    """Triples as three string columns.

    Attributes:
        triples: Columns head, relation, tail; no empty and no missing value.
        source: Where they come from, as a person would say it: a path, or "train".
        locate: Names the place of a row (numbered from 0) in the source: "train.txt, line 12".
        notes: What reading found worth saying, as plain sentences.
        absent: There is no such table; the source says where it would be.
    """

    triples: pa.Table
    source: str
    locate: Callable[[int], str]
    notes: tuple[str, ...] = ()
    absent: bool = False

    def __len__(self) -> int:
        return len(self.triples)

    def add_notes(self, notes: tuple[str, ...]) -> TripleTable:
        """Return the same triples with more notes."""
        return replace(self, notes=self.notes + notes)


def make_table(triples: Iterable[tuple[str, str, str]], source: str) -> TripleTable:
    """Build a table from triples of names.

    Args:
        triples: (head, relation, tail) names.
        source: What to call them in messages.
    """
    rows = [_read_row(row, f"{source}, triple {number}") for number, row in enumerate(triples, start=1)]
    arrays = [pa.array([row[place] for row in rows], pa.string()) for place in range(len(COLUMNS))]
    return TripleTable(pa.table(arrays, names=list(COLUMNS)), source, lambda row: f"{source}, triple {row + 1}")


def make_absent_table(folder: str) -> TripleTable:
    """Return a table without triples, for a split that a folder does not hold."""
    return replace(make_table((), folder), absent=True)


def _read_row(row: object, where: str) -> list[str]:
    """Return the three names of a row, whatever kind of sequence it is, as a file's would be; refuse anything else."""
    names = list(row) if isinstance(row, Iterable) and not isinstance(row, str | bytes | Set | Mapping) else []
    if len(names) != len(COLUMNS):
        raise DataError(f"{where}: {row!r} is not a triple; give three names: (head, relation, tail)")
    for column, value in zip(COLUMNS, names, strict=True):
        if not check_text(value, column, where).strip():
            raise DataError(f"{where}: the {column} is empty; give it a name or leave the triple out")
    return [name.strip() for name in names]
