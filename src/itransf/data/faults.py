"""Finding the line of a fault: a slow second look at a file that is known to be wrong."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from itransf.data.contents import tell_bad_encoding
from itransf.data.layout import SEPARATORS, Layout
from itransf.data.tables import COLUMNS
from itransf.errors import DataError

_UNCLOSED = 'a quote opens here and is not closed on this line; close it, or write "" for a quote in a quoted name'


def find_fault(content: bytes, layout: Layout, where: str) -> DataError | None:
    """Return the first fault of a file as an error that names the line and the cure, None if all is well."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return DataError(tell_bad_encoding(content, error, where))
    previous = 0
    try:
        for line, last_line, fields in iterate_records(content, layout):
            problem = _judge(fields, layout, last_line > line)
            if problem:
                return DataError(f"{where}, line {line}: {problem}")
            previous = last_line
    except csv.Error:
        return DataError(f"{where}, line {previous + 1}: {_UNCLOSED}")
    return None


def find_line(content: bytes, layout: Layout, row: int) -> int:
    """Return the number (from 1) of the line on which a row (from 0) starts."""
    for number, (line, _, _) in enumerate(iterate_records(content, layout)):
        if number == row:
            return line
    raise IndexError(f"the file has no row {row}")


def iterate_records(content: bytes, layout: Layout) -> Iterator[tuple[int, int, list[str]]]:
    """Yield first line, last line and fields of every record below the header that is not blank."""
    if not layout.quoted:
        for number, line in enumerate(content.splitlines(), start=1):
            if line and number > layout.skip:
                yield number, number, line.decode("utf-8", "replace").split(layout.separator)
        return
    text = io.StringIO(content.decode("utf-8", "replace"), newline="")
    rows = csv.reader(text, delimiter=layout.separator)
    previous = 0
    for fields in rows:
        if fields and rows.line_num > layout.skip:
            yield previous + 1, rows.line_num, fields
        previous = rows.line_num


def _judge(fields: list[str], layout: Layout, many_lines: bool) -> str | None:
    """Return what is wrong with one record, if anything."""
    if many_lines and (len(fields) != layout.width or any("\n" in fields[place] for place in layout.order)):
        return _UNCLOSED
    if len(fields) != layout.width:
        mark = SEPARATORS.get(layout.separator, repr(layout.separator))
        names = ", ".join(layout.names if layout.width > len(COLUMNS) else COLUMNS)
        return (
            f"{len(fields)} column{'s' * (len(fields) != 1)} instead of {layout.width} ({names}; separator: "
            f"{mark}); mend the line, or give the right separator"
        )
    for column, place in zip(COLUMNS, layout.order, strict=True):
        if not fields[place].strip():
            return f"the {column} is empty; fill it in or remove the line"
    return None
