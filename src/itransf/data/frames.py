"""Triples in memory: rows of names, or the columns of a data frame."""

import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Protocol
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from itransf.data.layout import TRIPLE, TRIPLES, Request, Table, check_bad, choose_columns, note_columns
from itransf.data.memory import bounded
from itransf.data.vocabulary import check_text
from itransf.errors import DataError

_PER_BYTE = 2  # bytes of memory for a byte of text: the column, and its copy without blanks
_DIGITS, _OFFSET = 40, 4  # bytes of a number or a time as text, and of the place of a text in its column
_TEXTS = ("string", "large_string", "string_view", "null")


class Frame(Protocol):
    """A data frame that exports its columns: pandas 2.2 or newer, polars, pyarrow and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the columns as an Arrow stream."""


NamedTriples = Iterable[tuple[str, str, str]] | Frame
"""Triples by name: rows of head, relation and tail, or a data frame with such columns."""


def read_triple(given: Any, row: int, locate: Callable[[int], str], pairs: bool = False) -> tuple[Any, ...]:
    """Return the names of a triple given in Python: in order, or under "head", "relation" and "tail".

    Whether the names are text is not checked.

    Args:
        given: A sequence of names, a mapping, or an object with these attributes, such as a prediction.
        row: Number of its row, from 0.
        locate: Function from a row to its place, for messages.
        pairs: Whether (head, tail) is enough.
    """
    if isinstance(given, Mapping):
        names = tuple(given[part] for part in TRIPLE if part in given)
    elif isinstance(given, str | bytes | Set):  # letters, or names in no order
        names = ()
    elif isinstance(given, Iterable):
        names = tuple(given)
    else:
        names = tuple(getattr(given, part) for part in TRIPLE if hasattr(given, part))
    if len(names) != len(TRIPLE) and not (pairs and len(names) == 2):
        wanted = "(head, tail) or (head, relation, tail)" if pairs else "three names: (head, relation, tail)"
        raise DataError(f"{locate(row)}: {given!r} is not a triple; give {wanted}")
    return names


def holds_triples(given: object) -> bool:
    """Return whether an object may hold triples: a data frame, or rows of any kind."""
    if hasattr(given, "__arrow_c_stream__"):
        return True
    return isinstance(given, Iterable) and not isinstance(given, str | bytes | os.PathLike | Mapping)


def gather_triples(triples: NamedTriples, source: str, request: Request = TRIPLES) -> Table:
    """Build a table from triples in memory.

    Args:
        triples: (head, relation, tail) names, or a data frame with three columns or with columns of these names.
        source: Name of the triples for messages.
        request: Columns to read from a data frame.
    """
    if not holds_triples(triples):
        raise DataError(
            f"{source}: {reprlib.repr(triples)} holds no triples; give rows of three names (head, relation, tail) or "
            "a data frame; itransf.load takes the name of a dataset, a folder or a file as well"
        )
    if hasattr(triples, "__arrow_c_stream__") or hasattr(triples, "itertuples"):
        try:
            frame = _read_frame(triples)
        except (pa.ArrowException, TypeError, ValueError) as error:
            reason = ", ".join(str(part) for part in error.args)
            raise DataError(
                f"{source}: the data frame cannot be read ({reason}); convert its columns to strings"
            ) from None
        return take_columns(frame, source, request)

    def locate(row: int) -> str:
        return f"{source}, triple {row + 1}"

    rows = [_check_names(read_triple(given, row, locate), row, locate) for row, given in enumerate(triples)]
    data = {name: pa.array([row[place] for row in rows], pa.string()) for place, name in enumerate(TRIPLE)}
    return Table(pa.table(data), source, locate)


def take_columns(table: pa.Table, where: str, request: Request, header: Sequence[str] | None = None) -> Table:
    """Take the wanted columns from a table, by name or because there are no others; numbers become text.

    Args:
        table: The table.
        where: Name of the table for messages.
        request: Columns to take.
        header: All columns of the source, if the table only has those that are wanted, in the order of the source.
    """
    names, form = tuple(table.column_names), request.form
    words = tuple(header or names)
    columns = choose_columns(words, where, request)
    places = columns if header is None else {name: place for place, name in enumerate(columns)}
    data = {name: _to_text(table.column(place), names[place], where) for name, place in places.items()}
    notes = () if form.is_given else note_columns(words, columns, where)
    found = Table(pa.table(data), where, lambda row: f"{where}, row {row + 1}", notes, words)
    free = request.list_free(columns)
    faults = {
        row: f"{names[places[name]]!r} is empty; fill it in or remove the row"
        for name in reversed(places)
        for row in (np.flatnonzero(pc.equal(data[name], "").to_numpy()).tolist() if name not in free else ())
        if not form.wide or any(column[row].as_py() for column in data.values())  # else it is a blank line
    }
    if faults:
        listed = [(row + 1, faults[row]) for row in sorted(faults)]
        kept = np.delete(np.arange(len(found)), list(faults))
        found = found.take(kept, notes=check_bad(listed, where, form, "row"))
    return melt(found, form.split) if form.wide else found


def melt(table: Table, split: str | None) -> Table:
    """Return the triples of a wide table: the first column holds heads, every other one the tails of a relation.

    The triples of a row begin with a relation that depends on the head: the first triple of an entity is never held
    out, and no relation should be that triple for all.

    Args:
        table: The table; empty cells give no triple.
        split: Separator of several values in a cell, if any.
    """
    heads, *columns = (column.combine_chunks() for column in table.data.columns)
    cells = pc.replace_substring_regex(pa.concat_arrays(columns), r"\s*[\r\n]+\s*", " ")
    owners = np.arange(len(cells))
    if split:
        lists = pc.split_pattern(cells, split)
        owners, cells = pc.list_parent_indices(lists).to_numpy(), pc.utf8_trim_whitespace(pc.list_flatten(lists))
    kept = np.flatnonzero(pc.not_equal(cells, "").to_numpy(zero_copy_only=False))
    numbers, rows = np.divmod(owners[kept], len(heads))
    starts = np.array([crc32(head.encode()) % len(columns) for head in heads.to_pylist()], np.int64)
    order = np.lexsort(((numbers - starts[rows]) % len(columns), rows))
    kept, numbers, rows = kept[order], numbers[order], rows[order]
    relations = pa.array(table.data.column_names[1:], pa.string()).take(numbers)
    return table.take(rows, pa.table([heads.take(rows), relations, cells.take(kept)], names=TRIPLE))


def _check_names(names: tuple[Any, ...], row: int, locate: Callable[[int], str]) -> list[str]:
    """Return the names of a triple without blanks around them, refusing anything but text."""
    for column, name in zip(TRIPLE, names, strict=True):
        if not check_text(name, column, locate(row)).strip():
            raise DataError(f"{locate(row)}: the {column} is empty; give it a name or leave the triple out")
    return [name.strip() for name in names]


def _read_frame(frame: Any) -> pa.Table:
    """Return a data frame as a table; one of an older pandas row by row."""
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(frame).read_all()
    rows = list(frame.itertuples(index=False, name=None))
    names = [str(name) for name in frame.columns]
    columns = [pa.array([row[place] for row in rows], from_pandas=True) for place in range(len(names))]
    return pa.table(columns, names=names)


def _to_text(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return a column as text, refusing other values."""
    check_kind(column.type, name, where)
    with bounded() as budget:
        budget.take(_PER_BYTE * _measure_text(column), where)
    if pa.types.is_dictionary(column.type):
        chunks = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in column.chunks]
        column = pa.chunked_array(chunks, pa.string())
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise _find_bad_text(column, name, where) from None
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    text = pc.fill_null(pc.utf8_trim_whitespace(column.cast(pa.string())), "")
    if pa.types.is_timestamp(column.type):
        text = pc.replace_substring_regex(text, r"\.0+(Z?)$", r"\1")
        if pc.all(pc.match_substring_regex(text, "^$| 00:00:00Z?$")).as_py():
            text = pc.replace_substring_regex(text, " 00:00:00Z?$", "")
    return text


def check_kind(kind: pa.DataType, name: str, where: str) -> None:
    """Refuse a column whose values are not plain: text, numbers, dates or times."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not (pa.types.is_primitive(plain) or pa.types.is_decimal(plain) or str(plain) in _TEXTS):
        raise DataError(f"{where}: the column {name!r} holds {plain}, not names; convert it to strings")


def _measure_text(column: pa.ChunkedArray) -> int:
    """Return the bytes that a column has as text, at most, without making it one."""
    size = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(column.type):
            lengths = pc.binary_length(chunk.dictionary.cast(pa.large_binary()).fill_null(b""))
            size += pc.sum(lengths.take(chunk.indices.fill_null(0))).as_py() or 0 if len(lengths) else 0
        elif str(column.type) not in _TEXTS:
            size += _DIGITS * len(chunk)
        else:
            size += chunk.nbytes
    return size + _OFFSET * len(column)


def _find_bad_text(column: pa.ChunkedArray, name: str, where: str) -> DataError:
    """Return the error for the first value that is not UTF-8; slow."""
    for row, value in enumerate(column.cast(pa.binary()).to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            byte = value[error.start]
            return DataError(f"{where}, row {row + 1}: byte 0x{byte:02x} in {name!r} is not UTF-8; correct the value")
    return DataError(f"{where}: the column {name!r} cannot be read; write the file again")
