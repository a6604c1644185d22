"""Reading one file of triples, text or Parquet, into string columns."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from itransf.data.contents import strip_compression
from itransf.data.faults import find_fault, find_line, iterate_records
from itransf.data.formats import refuse_other_formats
from itransf.data.frames import read_columns
from itransf.data.layout import Layout, detect_layout
from itransf.data.notes import note_columns, note_first_line, note_quotes
from itransf.data.tables import COLUMNS, TripleTable, make_table
from itransf.errors import DataError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK_LINES = re.compile(rb"^ +(?=\r?$)", re.MULTILINE)


def read_table(
    content: bytes, name: str, where: str, separator: str | None = None, header: bool | None = None
) -> TripleTable:
    """Read triples from the bytes of a file.

    Args:
        content: The file's bytes, expanded.
        name: Its name, whose ending tells the format: .parquet, .csv (quotes have a meaning), or other text.
        where: What to call it in messages.
        separator: The character between columns; detected if not given.
        header: Whether the first line names the columns; detected if not given.
    """
    refuse_other_formats(content, name, where)
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
    table = TripleTable(
        pa.table(columns, names=list(COLUMNS)),
        where,
        lambda row: f"{where}, line {find_line(content, layout, row)}",
        note_columns(layout.names, layout.order, where),
    )
    if header is None and not layout.skip:
        table = table.add_notes(note_first_line(table.triples, where))
    if not layout.quoted and b'"' in content:
        table = table.add_notes(note_quotes(table.triples, table.locate, where))
    return table


def _parse(content: bytes, layout: Layout) -> list[pa.ChunkedArray]:
    """Return heads, relations and tails without the blanks around names."""
    wanted = [str(place) for place in layout.order]
    table = csv.read_csv(
        pa.BufferReader(content),
        # A row must fit a block; large blocks also keep the number of chunks low.
        read_options=csv.ReadOptions(
            column_names=[str(place) for place in range(layout.width)], skip_rows=layout.skip, block_size=2**23
        ),
        parse_options=csv.ParseOptions(
            delimiter=layout.separator,
            quote_char='"' if layout.quoted else False,
            newlines_in_values=layout.quoted and b'"' in content,
        ),
        # Without this, ids such as 00260881 would become numbers and NA (Namibia) would go missing.
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(wanted, pa.string()), strings_can_be_null=False, include_columns=wanted
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
    """Raise what is wrong with an unparsable file; return empty columns if it merely has no triples."""
    try:
        return _parse(content, layout)
    except pa.ArrowInvalid as error:
        fault = find_fault(content, layout, where)
        if fault is None and next(iterate_records(content, layout), None) is None:
            return [pa.chunked_array([], pa.string())] * len(COLUMNS)
        raise fault or DataError(f"{where} cannot be read: {error}; check that it is a text file") from None


def _read_parquet(content: bytes, where: str) -> TripleTable:
    """Read a Parquet file; numbers become their decimal text."""
    try:
        table = pq.read_table(pa.BufferReader(content))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{where} is not a readable Parquet file: {error}") from None
    return read_columns(table, where)
