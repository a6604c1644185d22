"""Reading one file of facts, text or Parquet, into string columns."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from itransf.data.contents import strip_compression
from itransf.data.faults import find_fault, find_line, iterate_records
from itransf.data.layout import Layout, detect_layout, match_header
from itransf.data.tables import COLUMNS, FactTable, make_table
from itransf.errors import DataError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_POSITIONS = ("0", "1", "2")
_BLANK_LINES = re.compile(rb"^ +(?=\r?$)", re.MULTILINE)
_FEW_FACTS = 10  # a file with fewer says little about what is usual in it


def read_table(
    content: bytes, name: str, where: str, separator: str | None = None, header: bool | None = None
) -> FactTable:
    """Read facts from the bytes of a file.

    Args:
        content: The file's bytes, expanded.
        name: Its name, whose ending tells the format: .parquet, .csv (quotes have a meaning), or other text.
        where: What to call it in messages.
        separator: The character between columns; detected if not given.
        header: Whether the first line names the columns; detected if not given.
    """
    if strip_compression(name).lower().endswith(".parquet"):
        return _read_parquet(content, where)
    if content.startswith(_BYTE_ORDER_MARK):
        content = content[len(_BYTE_ORDER_MARK) :]
    layout = detect_layout(content, name, where, separator, header)
    if not content.strip():
        return make_table((), where)
    try:
        columns = _parse(content, layout)
    except pa.ArrowInvalid:
        content = _BLANK_LINES.sub(b"", content)  # as good as empty, and the others keep their numbers
        columns = _parse_or_explain(content, layout, where)
    if any(_is_faulty(column, layout) for column in columns):
        fault = find_fault(content, layout, where)
        raise fault or DataError(f"{where} has an empty field; fill it in or remove the line")
    table = pa.table([columns[place] for place in layout.order], names=list(COLUMNS))
    notes = _note_order(layout.order, where)
    if header is None and not layout.skip:
        notes += _note_first_line(table, where)
    return FactTable(table, where, lambda row: f"{where}, line {find_line(content, layout, row)}", notes)


def _parse(content: bytes, layout: Layout) -> list[pa.ChunkedArray]:
    """Return the three columns as they stand in the file, without the blanks around names."""
    table = csv.read_csv(
        pa.BufferReader(content),
        # A row must fit a block; large blocks also keep the number of chunks low.
        read_options=csv.ReadOptions(column_names=list(_POSITIONS), skip_rows=layout.skip, block_size=2**23),
        parse_options=csv.ParseOptions(
            delimiter=layout.separator,
            quote_char='"' if layout.quoted else False,
            newlines_in_values=layout.quoted and b'"' in content,
        ),
        # Without this, ids such as 00260881 would become numbers and NA (Namibia) would go missing.
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(_POSITIONS, pa.string()), strings_can_be_null=False
        ),
    )
    return [pc.utf8_trim_whitespace(column) for column in table.columns]


def _is_faulty(column: pa.ChunkedArray, layout: Layout) -> bool:
    """Return whether a column has an empty name, or one that an unclosed quote spread over several lines."""
    faulty = pc.equal(column, "")
    if layout.quoted:
        faulty = pc.or_(faulty, pc.match_substring_regex(column, r"[\r\n]"))
    return bool(pc.any(faulty).as_py())


def _parse_or_explain(content: bytes, layout: Layout, where: str) -> list[pa.ChunkedArray]:
    """Raise what is wrong with an unparsable file; return empty columns if it merely has no facts."""
    try:
        return _parse(content, layout)
    except pa.ArrowInvalid as error:
        fault = find_fault(content, layout, where)
        if fault is None and next(iterate_records(content, layout), None) is None:
            return [pa.chunked_array([], pa.string())] * len(COLUMNS)
        raise fault or DataError(f"{where} cannot be read: {error}; check that it is a text file") from None


def _read_parquet(content: bytes, where: str) -> FactTable:
    """Read a Parquet file of three columns; numbers become their decimal text."""
    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{where} is not a readable Parquet file: {error}") from None
    if table.num_columns != len(COLUMNS):
        raise DataError(
            f"{where}: {table.num_columns} columns instead of 3 (head, relation, tail): "
            f"{', '.join(table.column_names)}; write a file with only these three"
        )
    order = match_header(table.column_names) or (0, 1, 2)
    columns = [_to_text(table.column(place), table.column_names[place], where) for place in order]
    facts = pa.table(columns, names=list(COLUMNS))
    return FactTable(facts, where, lambda row: f"{where}, row {row + 1}", _note_order(order, where))


def _to_text(column: pa.ChunkedArray, name: str, where: str) -> pa.ChunkedArray:
    """Return a column as names, refusing what is none."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(f"{where}: the column {name!r} holds {kind}, not names; convert it to strings")
    text = pc.utf8_trim_whitespace(column.cast(kind).cast(pa.string()))
    empty = pc.fill_null(pc.equal(text, ""), True)
    if pc.any(empty).as_py():
        row = pc.index(empty, True).as_py() + 1
        raise DataError(f"{where}, row {row}: {name!r} is empty; fill it in or remove the row")
    return text


def _note_first_line(table: pa.Table, where: str) -> tuple[str, ...]:
    """Say so where the first line was read as a fact and may be a header: none of its names occurs again."""
    if table.num_rows < _FEW_FACTS:
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
    return (f"{where}: the first line ({told}) was read as a fact; if it names the columns, give --header.",)


def _note_order(order: tuple[int, int, int], where: str) -> tuple[str, ...]:
    """Say that the header named the columns in another order than usual."""
    if order == (0, 1, 2):
        return ()
    names = ", ".join(COLUMNS[order.index(place)] for place in range(3))
    return (f"{where}: the columns stand in the order {names}, as the header says.",)
