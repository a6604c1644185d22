"""The reader of tables: triples, labels, queries, candidates; text or Parquet, plain or compressed."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from itransf.data.archives import INPUT, read_content
from itransf.data.frames import check_kind, melt, take_columns
from itransf.data.known import Integers
from itransf.data.layout import (
    SEPARATORS,
    TRIPLE,
    TRIPLES,
    Form,
    Layout,
    Request,
    Table,
    check_bad,
    choose_columns,
    detect_layout,
    is_kind,
    note_columns,
    refuse_formats,
)
from itransf.data.memory import Budget, bounded
from itransf.errors import DataError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK_LINES = re.compile(rb"^ +(?=\r?$)", re.MULTILINE)
_LINE_ENDS = re.compile(rb"\r\n?|\n")
_FURTHER_COLUMNS = re.compile(rb"^([^\t\r\n]*\t[^\t\r\n]*)\t[^\r\n]*", re.MULTILINE)
_ROWS = 2**14  # rows of a Parquet file that are read at a time
_COPIES = 2  # of a column while it is decoded
_MOST_COLUMNS = 100_000  # and parts of other lists in the metadata of a Parquet file
_FEW_TRIPLES = 10  # a file with fewer says little about what is usual in it
_UNCLOSED = 'a quote opens here and is not closed on this line; close it, or write "" for a quote in a quoted name'


def read_columns(path: str | Path, request: Request = TRIPLES, content: bytes | None = None) -> Table:
    """Read columns of text from a file.

    A header may name the columns, in any order and among others; without one the file has the wanted columns only.

    Args:
        path: The file; its ending gives the format: .parquet, .csv (quotes have a meaning), or other text.
        request: Columns to read.
        content: The file's expanded bytes, for a member of an archive; read from `path` if not given.

    Raises:
        DataError: The file cannot be read; the message names the line.
    """
    where = INPUT if str(path) == "-" else str(path)
    form = request.form
    content = read_content(Path(path)) if content is None else content
    refuse_formats(content, where)
    if is_kind(where, ".parquet") or (where == INPUT and content.startswith(b"PAR1")):
        with bounded() as budget:
            return _read_parquet(content, where, request, budget)
    content = content.removeprefix(_BYTE_ORDER_MARK)
    if len(request.wanted) == 1:
        content = _BLANK_LINES.sub(b"", content)
    layout = detect_layout(content, where, request)
    data, content, notes = _parse_text(content, layout, where, request.list_free(layout.columns), form)

    @cache
    def find_lines() -> Integers:
        return np.fromiter((line for line, _ in _iterate_records(content, layout)), dtype=np.int64)

    def locate(row: int) -> str:
        return f"{where}, line {find_lines()[row]}"

    notes += () if form.is_given else note_columns(layout.header, layout.columns, where)
    if form.header is None and not layout.skip and tuple(layout.columns) == TRIPLE:
        notes += _note_first_line(data, where)
    if not layout.quoted and b'"' in content:
        notes += _note_quotes(data, where, locate)
    table = _drop_headers(Table(data, where, locate, notes, layout.header), layout)
    return melt(table, form.split) if form.wide else table


def _drop_headers(table: Table, layout: Layout) -> Table:
    """Leave out rows that repeat the header, as where several files were joined, and note it."""
    if not layout.header or len(layout.columns) < 2:
        return table
    is_header = np.ones(len(table), dtype=np.bool_)
    for name, place in layout.columns.items():
        is_header &= pc.equal(table.data[name], layout.header[place]).to_numpy()
    if not is_header.any():
        return table
    amount = "1 row repeats" if is_header.sum() == 1 else f"{is_header.sum():,} rows repeat"
    note = f"{amount} the header; left out (first: {table.locate(int(np.argmax(is_header)))})."
    return table.take(np.flatnonzero(~is_header), notes=[note])


def read_labels(path: Path) -> dict[str, str]:
    """Read a label file: name and label on each line; in a tab-separated file further columns are ignored.

    The first label of a name counts; lines without a name or a label are skipped.
    """
    content = read_content(path)
    if not is_kind(path.name, ".parquet"):
        content = _FURTHER_COLUMNS.sub(rb"\1", content)
    table = read_columns(path, Request(("name", "label"), form=Form(header=False), blanks=True), content)
    if not len(table):
        raise DataError(f"{path}: there are no labels in it; write lines of name, tab, label")
    labels: dict[str, str] = {}
    for name, label in table.rows():
        if name and label:
            labels.setdefault(name, label)
    return labels


def _read_parquet(content: bytes, where: str, request: Request, budget: Budget) -> Table:
    """Read the wanted columns of a Parquet file, batch by batch; repeated values are not expanded on the way."""
    before = pa.total_allocated_bytes()
    try:
        limits = {"thrift_string_size_limit": len(content), "thrift_container_size_limit": _MOST_COLUMNS}
        described = pq.ParquetFile(pa.BufferReader(content), **limits)
        schema = described.schema_arrow
        columns = choose_columns(tuple(schema.names), where, request)
        for place in columns.values():
            check_kind(schema.field(place).type, schema.names[place], where)
        names = [schema.names[place] for place in columns.values()]
        budget.check(_COPIES * _measure_parquet(described.metadata, {*names}), where)
        texts = [name for name in names if not pa.types.is_integer(schema.field(name).type)]
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts, **limits)
        batches = []
        for batch in file.iter_batches(_ROWS, columns=names, use_threads=False):
            budget.check(pa.total_allocated_bytes() - before, where)
            batches.append(batch)
    except (pa.ArrowException, OSError, MemoryError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise DataError(f"{where} is not a readable Parquet file: {reason}") from None
    empty = pa.schema([schema.field(name) for name in names])
    table = pa.Table.from_batches(batches) if batches else empty.empty_table()
    return take_columns(table.select(names), where, request, tuple(schema.names))


def _measure_parquet(metadata: pq.FileMetaData, names: Set[str]) -> int:
    """Return the bytes of some columns of a Parquet file before their compression."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    return sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in names)


def _parse_text(
    content: bytes, layout: Layout, where: str, blanks: Set[str], form: Form
) -> tuple[pa.Table, bytes, tuple[str, ...]]:
    """Return the columns of a text file without blanks around names, the lines that were read, and notes."""
    empty = pa.table({name: pa.array([], pa.string()) for name in layout.columns})
    problem = ""
    for text in (content, _BLANK_LINES.sub(b"", content)):  # the other lines keep their numbers
        try:
            data = _parse(text, layout)
        except pa.ArrowInvalid as error:
            problem = str(error)
            continue
        if not any(_is_faulty(data.column(name), layout, name in blanks) for name in layout.columns):
            return data, text, ()
        break
    faults = _find_faults(text, layout, where, blanks)
    if not faults and next(_iterate_records(text, layout), None) is None:
        return empty, text, ()
    if not faults and (problem or not layout.wide):
        raise DataError(f"{where} cannot be read: {problem or 'it has an empty field'}; check that it is a text file")
    parts = re.split(b"(%s)" % _LINE_ENDS.pattern, text)
    for line, _ in reversed(faults):
        is_last = line == faults[-1][0] and not b"".join(parts[2 * line - 1 :]).strip()
        is_comment = is_last and parts[2 * line - 2].startswith(b"#")  # at the end of the file
        faults = faults[:-1] if is_comment else faults
        parts[2 * line - 2] = b""
    notes = check_bad(faults, where, form) if faults else ()
    text = b"".join(parts)
    return _parse(text, layout), text, notes


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


def _is_faulty(column: pa.ChunkedArray, layout: Layout, blank: bool) -> bool:
    """Return whether a column has an empty name, or one that an unclosed quote spread over several lines."""
    return bool(
        (not blank and pc.any(pc.equal(column, "")).as_py())
        or (layout.quoted and not layout.wide and pc.any(pc.match_substring_regex(column, r"[\r\n]")).as_py())
    )


def _find_faults(content: bytes, layout: Layout, where: str, blanks: Set[str]) -> list[tuple[int, str]]:
    """Return the bad lines of a text file, each with what is wrong; slow."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise DataError(f"{where}, line 1: the file is UTF-16, not UTF-8; convert it: iconv -f utf-16 -t utf-8")
    faults = {}
    for line, fields in _iterate_records(content, layout):
        fault = _UNCLOSED if fields is None else _check_record(fields, layout, blanks)
        if fault:
            faults[line] = fault
    for line, text in enumerate(_LINE_ENDS.split(content), start=1):
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = f"byte 0x{text[error.start]:02x} is not UTF-8"
            faults[line] = f"{byte}; save the file as UTF-8, for instance: iconv -f latin1 -t utf-8"
    return sorted(faults.items())


def _check_record(fields: list[str], layout: Layout, blanks: Set[str]) -> str | None:
    """Return what is wrong with one record, if anything."""
    width = layout.width
    if len(fields) != width:
        names = ", ".join(layout.header if width > len(layout.columns) and layout.header else layout.columns)
        mark = SEPARATORS.get(layout.separator, repr(layout.separator))
        advice = "name the columns in a header" if "head" in layout.columns else "quote such names in a .csv file"
        amount = f"{len(fields)} column{'s' * (len(fields) != 1)}"
        return f"{amount} instead of {width} ({names}; separator: {mark}); correct the line, or {advice}"
    empty = [name for name, place in layout.columns.items() if name not in blanks and not fields[place].strip()]
    if not empty or (layout.wide and not "".join(fields).strip()):
        return None
    return f"the {empty[0]} is empty; fill it in or remove the line"


def _iterate_records(content: bytes, layout: Layout) -> Iterator[tuple[int, list[str] | None]]:
    """Yield line and fields of every record below the header that is not blank; None for a quote that is not closed."""
    lines = list(io.TextIOWrapper(io.BytesIO(content), "utf-8", "replace", newline=""))
    done = layout.skip
    if not layout.quoted:
        for number, line in enumerate(lines[done:], start=done + 1):
            if line.strip(" \r\n"):
                yield number, line.rstrip("\r\n").split(layout.separator)
    while layout.quoted and done < len(lines):
        start = done
        rows = csv.reader((lines[number] for number in range(start, len(lines))), delimiter=layout.separator)
        for fields in rows:
            if start + rows.line_num > done + 1 and _is_torn(fields, layout):
                yield done + 1, None
                done += 1  # the next line is read on its own
                break
            if len(fields) > 1 or "".join(fields).strip(" "):
                yield done + 1, fields
            done = start + rows.line_num


def _is_torn(fields: Sequence[str], layout: Layout) -> bool:
    """Return whether a record of several lines is what an unclosed quote made of several records."""
    names = [] if layout.wide or len(fields) != layout.width else [fields[place] for place in layout.columns.values()]
    return len(fields) != layout.width or any("\n" in name or "\r" in name for name in names)


def _note_first_line(data: pa.Table, where: str) -> tuple[str, ...]:
    """Note that the first line, which was read as a triple, may be a header: none of its names occurs again."""
    relations = pc.count_distinct(data.column("relation")).as_py() - 1
    if len(data) < _FEW_TRIPLES and not 0 < 2 * relations < len(data):
        return ()
    ends = (data.column("head"), data.column("tail"))
    words = [data.column(name)[0].as_py() for name in TRIPLE]
    for word, columns in zip(words, (ends, (data.column("relation"),), ends), strict=True):
        if sum(pc.sum(pc.equal(column, word)).as_py() for column in columns) > 1:
            return ()
    return (
        f"{where}: line 1 looks like a header: {', '.join(words)}. It was read as a triple; if it names the columns, "
        "give --header (header=True), otherwise --no-header (header=False).",
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
