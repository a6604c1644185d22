"""What reading found worth saying, as plain sentences; some may point to a mistake, others merely tell."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from itransf.data.tables import COLUMNS

_FEW_TRIPLES = 10  # a file with fewer says little about what is usual in it
_SHOWN = 8  # columns listed that were left out
_LOG = logging.getLogger("itransf.data")


class Remark(str):
    """A note that merely tells how something was read; any other note may point to a mistake."""

    __slots__ = ()


def report(notes: Iterable[str]) -> None:
    """Log notes for whoever reads from Python: what may be a mistake as a warning."""
    for note in notes:
        _LOG.log(logging.INFO if isinstance(note, Remark) else logging.WARNING, "%s", note)


def note_columns(names: Sequence[str], order: tuple[int, int, int], where: str) -> tuple[str, ...]:
    """Say that the header named the columns in another order than usual, or more than were read."""
    notes = []
    if list(order) != sorted(order):
        told = ", ".join(COLUMNS[place] for place in sorted(range(3), key=lambda place: order[place]))
        notes.append(Remark(f"{where}: the columns stand in the order {told}, as the header says."))
    others = [name.strip() or "one without a name" for place, name in enumerate(names) if place not in order]
    if others:
        told = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
        notes.append(Remark(f"{where}: beside head, relation and tail, columns were left out: {told}."))
    return tuple(notes)


def note_first_line(table: pa.Table, where: str) -> tuple[str, ...]:
    """Say so where the first line was read as a triple and may be a header: none of its names occurs again."""
    if table.num_rows < _FEW_TRIPLES:
        return ()
    words = [table.column(name)[0].as_py() for name in COLUMNS]
    ends = (table.column("head"), table.column("tail"))
    counts = [
        sum(pc.sum(pc.equal(column, word)).as_py() for column in columns)
        for word, columns in zip(words, (ends, (table.column("relation"),), ends), strict=True)
    ]
    if counts != [1, 1, 1]:
        return ()
    told = ", ".join(words)
    return (
        f"{where}: the first line ({told}) was read as a triple; if it names the columns, give --header (header=True).",
    )


def note_quotes(table: pa.Table, locate: Callable[[int], str], where: str) -> tuple[str, ...]:
    """Say so where names of a file in which quotes mean nothing stand in double quotes."""
    quoted = [pc.match_substring_regex(column, '^".*"$') for column in table.columns]
    count = sum(pc.sum(column).as_py() or 0 for column in quoted)
    if not count:
        return ()
    first = min(row for column in quoted if (row := pc.index(column, True).as_py()) >= 0)
    told = "1 name stands" if count == 1 else f"{count:,} names stand"
    return (
        f"{where}: {told} in double quotes, which were kept as part of the name (first: {locate(first)}); "
        "if they are none, let the file's name end in .csv: only there do quotes have a meaning.",
    )
