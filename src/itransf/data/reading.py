"""The reader of tables: triples, labels, queries, candidates; text or Parquet, plain or compressed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from itransf.data.archives import read_content
from itransf.data.frames import take_columns
from itransf.data.known import Integers
from itransf.data.layout import SEPARATORS, TRIPLE, Layout, Table, detect_layout, is_kind, note_columns, refuse_formats
from itransf.errors import DataError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK_LINES = re.compile(rb"^ +(?=\r?$)", re.MULTILINE)
_FURTHER_COLUMNS = re.compile(rb"^([^\t\r\n]*\t[^\t\r\n]*)\t[^\r\n]*", re.MULTILINE)
_FEW_TRIPLES = 10  # a file with fewer says little about what is usual in it
_UNCLOSED = 'a quote opens here and is not closed on this line; close it, or write "" for a quote in a quoted name'


def read_columns(
    path: str | Path,
    wanted: Sequence[str] = TRIPLE,
    *,
    optional: Sequence[str] = (),
    content: bytes | None = None,
    separator: str | None = None,
    header: bool | None = None,
    blanks: bool = False,
) -> Table:
    """Read columns of text from a file.

    A header may name the columns, in any order and among others; without one the file has the wanted columns only.

    Args:
        path: The file; its ending gives the format: .parquet, .csv (quotes have a meaning), or other text.
        wanted: Names of the columns.
        optional: Columns among them that may be missing.
        content: The file's expanded bytes, for a member of an archive; read from `path` if not given.
        separator: Character between columns, or its name; detected if not given.
        header: Whether the first line names the columns; detected if not given.
        blanks: Whether fields may be empty.

    Raises:
        DataError: The file cannot be read; the message names the line.
    """
    where = str(path)
    content = read_content(Path(path)) if content is None else content
    refuse_formats(content, where)
    if is_kind(where, ".parquet"):
        return take_columns(_read_parquet(content, where), where, wanted, optional, blanks)
    content = content.removeprefix(_BYTE_ORDER_MARK)
    if len(wanted) == 1:
        content = _BLANK_LINES.sub(b"", content)
    layout = detect_layout(content, where, wanted, optional, separator, header)
    data = _parse_text(content, layout, where, blanks)

    @cache
    def find_lines() -> Integers:
        return np.fromiter((line for line, _, _ in _iterate_records(content, layout)), dtype=np.int64)

    def locate(row: int) -> str:
        return f"{where}, line {find_lines()[row]}"

    notes = note_columns(layout.header, layout.columns, where)
    if header is None and not layout.skip and tuple(layout.columns) == TRIPLE:
        notes += _note_first_line(data, where)
    if not layout.quoted and b'"' in content:
        notes += _note_quotes(data, where, locate)
    return Table(data, where, locate, notes, layout.header)


def read_labels(path: Path) -> dict[str, str]:
    """Read a label file: name and label on each line; in a tab-separated file further columns are ignored.

    The first label of a name counts; lines without a name or a label are skipped.
    """
    content = read_content(path)
    if not is_kind(path.name, ".parquet"):
        content = _FURTHER_COLUMNS.sub(rb"\1", content)
    table = read_columns(path, ("name", "label"), content=content, header=False, blanks=True)
    if not len(table):
        raise DataError(f"{path}: there are no labels in it; write lines of name, tab, label")
    labels: dict[str, str] = {}
    for name, label in table.rows():
        if name and label:
            labels.setdefault(name, label)
    return labels


def _read_parquet(content: bytes, where: str) -> pa.Table:
    try:
        return pq.read_table(pa.BufferReader(content))
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{where} is not a readable Parquet file: {error}") from None


def _parse_text(content: bytes, layout: Layout, where: str, blanks: bool) -> pa.Table:
    """Return the columns of a text file without blanks around names, or raise its first fault."""
    empty = pa.table({name: pa.array([], pa.string()) for name in layout.columns})
    if not content.strip():
        return empty
    try:
        data = _parse(content, layout)
    except pa.ArrowInvalid:
        content = _BLANK_LINES.sub(b"", content)  # the other lines keep their numbers
        try:
            data = _parse(content, layout)
        except pa.ArrowInvalid as error:
            fault = _find_fault(content, layout, where, blanks)
            if fault is None and next(_iterate_records(content, layout), None) is None:
                return empty
            raise fault or DataError(f"{where} cannot be read: {error}; check that it is a text file") from None
    if any(_is_faulty(column, layout.quoted, blanks) for column in data.columns):
        fault = _find_fault(content, layout, where, blanks)
        raise fault or DataError(f"{where} has an empty field; fill it in or remove the line")
    return data


def _parse(content: bytes, layout: Layout) -> pa.Table:
    """Parse the columns of a text file at full speed."""
    places = {name: str(place) for name, place in layout.columns.items()}
    table = pyarrow.csv.read_csv(
        pa.BufferReader(content),
        # A row must fit a block; large blocks also keep the number of chunks low.
        read_options=pyarrow.csv.ReadOptions(
            column_names=[str(place) for place in range(layout.width)], skip_rows=layout.skip, block_size=2**23
        ),
        parse_options=pyarrow.csv.ParseOptions(
            delimiter=layout.separator,
            quote_char='"' if layout.quoted else False,
            newlines_in_values=layout.quoted and b'"' in content,
        ),
        # Without this, ids such as 00260881 would become numbers and NA (Namibia) would be a missing value.
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(places.values(), pa.string()),
            strings_can_be_null=False,
            include_columns=list(places.values()),
        ),
    )
    return pa.table([pc.utf8_trim_whitespace(column) for column in table.columns], names=list(places))


def _is_faulty(column: pa.ChunkedArray, quoted: bool, blanks: bool) -> bool:
    """Return whether a column has an empty name, or one that an unclosed quote spread over several lines."""
    return bool(
        (not blanks and pc.any(pc.equal(column, "")).as_py())
        or (quoted and pc.any(pc.match_substring_regex(column, r"[\r\n]")).as_py())
    )


def _find_fault(content: bytes, layout: Layout, where: str, blanks: bool) -> DataError | None:
    """Return the first fault of a text file as an error that names the line; slow."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return DataError(f"{where}, line 1: the file is UTF-16, not UTF-8; convert it: iconv -f utf-16 -t utf-8")
        line = len(content[: error.start + 1].splitlines())
        return DataError(
            f"{where}, line {line}: byte 0x{content[error.start]:02x} is not UTF-8; "
            "save the file as UTF-8, for instance: iconv -f latin1 -t utf-8"
        )
    previous = 0
    try:
        for line, last_line, fields in _iterate_records(content, layout):
            problem = _check_record(fields, layout, last_line > line, blanks)
            if problem:
                return DataError(f"{where}, line {line}: {problem}")
            previous = last_line
    except csv.Error:
        return DataError(f"{where}, line {previous + 1}: {_UNCLOSED}")
    return None


def _check_record(fields: list[str], layout: Layout, many_lines: bool, blanks: bool) -> str | None:
    """Return what is wrong with one record, if anything."""
    width = layout.width
    if many_lines and (len(fields) != width or any("\n" in fields[place] for place in layout.columns.values())):
        return _UNCLOSED
    if len(fields) != width:
        names = ", ".join(layout.header if width > len(layout.columns) else layout.columns)
        mark = SEPARATORS.get(layout.separator, repr(layout.separator))
        advice = (
            "name the columns in a header" if "head" in layout.columns else "quote names with separators in a .csv file"
        )
        amount = f"{len(fields)} column{'s' * (len(fields) != 1)}"
        return f"{amount} instead of {width} ({names}; separator: {mark}); correct the line, or {advice}"
    empty = [name for name, place in layout.columns.items() if not fields[place].strip()]
    return f"the {empty[0]} is empty; fill it in or remove the line" if empty and not blanks else None


def _iterate_records(content: bytes, layout: Layout) -> Iterator[tuple[int, int, list[str]]]:
    """Yield first line, last line and fields of every record below the header that is not blank."""
    if not layout.quoted:
        for number, line in enumerate(content.splitlines(), start=1):
            if number > layout.skip and line.strip(b" "):
                yield number, number, line.decode("utf-8", "replace").split(layout.separator)
        return
    rows = csv.reader(io.StringIO(content.decode("utf-8", "replace"), newline=""), delimiter=layout.separator)
    previous = 0
    for fields in rows:
        if rows.line_num > layout.skip and (len(fields) > 1 or "".join(fields).strip(" ")):
            yield previous + 1, rows.line_num, fields
        previous = rows.line_num


def _note_first_line(data: pa.Table, where: str) -> tuple[str, ...]:
    """Note that the first line, which was read as a triple, may be a header: none of its names occurs again."""
    if len(data) < _FEW_TRIPLES:
        return ()
    ends = (data.column("head"), data.column("tail"))
    words = [data.column(name)[0].as_py() for name in TRIPLE]
    for word, columns in zip(words, (ends, (data.column("relation"),), ends), strict=True):
        if sum(pc.sum(pc.equal(column, word)).as_py() for column in columns) > 1:
            return ()
    return (
        f"{where}: the first line ({', '.join(words)}) was read as a triple; if it names the columns, "
        "give --header (header=True).",
    )


def _note_quotes(data: pa.Table, where: str, locate: Callable[[int], str]) -> tuple[str, ...]:
    """Note that names are in double quotes in a file where quotes have no meaning."""
    quoted = [pc.match_substring_regex(column, '^".*"$') for column in data.columns]
    count = sum(pc.sum(column).as_py() or 0 for column in quoted)
    if not count:
        return ()
    first = min(row for column in quoted if (row := pc.index(column, True).as_py()) >= 0)
    return (
        f"{where}: {count:,} name{'s are' if count > 1 else ' is'} in double quotes, which were kept as part of "
        f"the name (first: {locate(first)}); if they are not part of it, let the file's name end in .csv.",
    )
