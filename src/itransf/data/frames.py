"""Triples that are in memory already: rows of names, or the columns of a data frame."""

from __future__ import annotations

import os
import re
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from itransf.data.layout import find_columns
from itransf.data.notes import note_columns
from itransf.data.tables import COLUMNS, TripleTable, make_table
from itransf.errors import DataError

_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the index of a frame among its columns
_NAMES = ("string", "large_string", "string_view", "null")


class Frame(Protocol):
    """A data frame that hands out its columns: of pandas 2.2 or newer, polars, pyarrow and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as a stream of Arrow."""


NamedTriples = Iterable[tuple[str, str, str]] | Frame
"""Triples by name: rows of head, relation and tail, or a data frame with such columns."""


def gather_triples(triples: NamedTriples, source: str) -> TripleTable:
    """Build a table from triples in memory.

    Args:
        triples: (head, relation, tail) names, or a data frame with three columns or with columns called so.
        source: What to call them in messages.
    """
    if not holds_triples(triples):
        raise DataError(
            f"{source}: {reprlib.repr(triples)} holds no triples; give rows of three names (head, relation, tail) "
            "or a data frame (itransf.load reads files)"
        )
    if not (hasattr(triples, "__arrow_c_stream__") or hasattr(triples, "itertuples")):
        return make_table(triples, source)
    try:
        table = _read_frame(triples)
    except (pa.ArrowException, TypeError, ValueError) as error:
        told = ", ".join(str(part) for part in error.args)
        raise DataError(f"{source}: the data frame cannot be read ({told}); convert its columns to strings") from None
    return read_columns(table, source)


def holds_triples(triples: object) -> bool:
    """Return whether an object may hold triples: a data frame, or rows of any kind."""
    if hasattr(triples, "__arrow_c_stream__"):
        return True
    return isinstance(triples, Iterable) and not isinstance(triples, str | bytes | os.PathLike | Mapping)


def read_columns(table: pa.Table, where: str) -> TripleTable:
    """Take head, relation and tail from a table, by name or as its only three columns; numbers become text.

    Args:
        table: The table.
        where: What to call it in messages.
    """
    names = table.column_names
    order = find_columns(names) or _take_three(names, where)
    columns = [_to_text(table.column(place), names[place], where) for place in order]
    notes = note_columns(names, order, where)
    return TripleTable(pa.table(columns, names=list(COLUMNS)), where, lambda row: f"{where}, row {row + 1}", notes)


def _read_frame(triples: Any) -> pa.Table:
    """Return a data frame as a table; one of an older pandas row by row."""
    if hasattr(triples, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(triples).read_all()
    rows = list(triples.itertuples(index=False, name=None))
    names = [str(name) for name in triples.columns]
    columns = [pa.array([row[place] for row in rows], from_pandas=True) for place in range(len(names))]
    return pa.table(columns, names=names)


def _take_three(names: list[str], where: str) -> tuple[int, int, int]:
    """Return the places of the only three columns, an index aside."""
    places = [place for place, name in enumerate(names) if not _INDEX.fullmatch(name)]
    if len(places) != len(COLUMNS):
        raise DataError(
            f"{where}: {len(places)} column{'s' * (len(places) != 1)} instead of 3 (head, relation, tail): "
            f"{', '.join(names)}; call three of them head, relation and tail, or keep only three"
        )
    return places[0], places[1], places[2]


def _to_text(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return a column as names, refusing what is none."""
    encoded = pa.types.is_dictionary(column.type)
    kind = column.type.value_type if encoded else column.type
    if not (pa.types.is_integer(kind) or str(kind) in _NAMES):
        raise DataError(f"{where}: the column {name!r} holds {kind}, not names; convert it to strings")
    if encoded:
        chunks = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(chunks, pa.string())
    text = pc.utf8_trim_whitespace(column.cast(pa.string()))
    empty = pc.fill_null(pc.equal(text, ""), True)
    if pc.any(empty).as_py():
        row = pc.index(empty, True).as_py() + 1
        raise DataError(f"{where}, row {row}: {name!r} is empty; fill it in or remove the row")
    return text
