"""Tables for other programs: CSV, TSV, Parquet or JSON lines, by the suffix of the file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from itransf.errors import ConfigError, DataError, did_you_mean
from itransf.files import replacing

SUFFIXES = (".csv", ".tsv", ".parquet", ".jsonl")
_ROWS_AT_ONCE = 2**14  # rows turned into text together, which bounds the memory


def write_table(table: pa.Table, path: str | Path) -> Path:
    """Write a table; an old file is replaced only once the new one is complete.

    Fields of objects become columns such as "both.mrr", and lists in text are JSON; .jsonl keeps both as they are.

    Args:
        table: Table to write.
        path: File whose suffix gives the format: .csv (quoted where needed), .tsv (never quoted), .parquet or
            .jsonl (an object per line).

    Returns:
        The path.

    Raises:
        ConfigError: The suffix is none of these.
        DataError: A name contains a tab or a line break, which .tsv cannot hold.
    """
    target = Path(path)
    suffix = check_suffix(target)
    while suffix != ".jsonl" and any(pa.types.is_struct(kind) for kind in table.schema.types):
        table = table.flatten()
    with replacing(target) as temporary:
        if suffix == ".parquet":
            pq.write_table(table, temporary)
        elif suffix == ".jsonl":
            with temporary.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
        else:
            _write_text(table, temporary, "," if suffix == ".csv" else "\t", str(target))
    return target


def write_rows(rows: Sequence[Mapping[str, Any]], path: str | Path, columns: Iterable[str] = ()) -> Path:
    """Write rows; a field that a row lacks is empty. See `write_table`.

    Args:
        rows: The rows.
        path: File whose suffix gives the format.
        columns: Names of the columns of a file without rows.
    """
    if not rows:
        return write_table(pa.table({name: pa.nulls(0, pa.string()) for name in columns}), path)
    fields = dict.fromkeys(name for row in rows for name in row)
    return write_table(pa.Table.from_pylist([{**fields, **row} for row in rows]), path)


def check_suffix(path: Path) -> str:
    """Return the suffix of the path in lower case, if it is that of a table."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        what = f"the suffix {path.suffix!r}" if path.suffix else "a name without a suffix"
        raise ConfigError(
            f"{path}: {what} is not the format of a table; "
            f"use {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.{did_you_mean(suffix, SUFFIXES)}"
        )
    return suffix


def _write_text(table: pa.Table, path: Path, separator: str, where: str) -> None:
    """Write a header and one line per row."""
    with path.open("w", encoding="utf-8", newline="") as file:
        header = pa.table([pa.array([name]) for name in table.column_names], names=table.column_names)
        for part in (header, *table.to_batches(max_chunksize=_ROWS_AT_ONCE)):
            fields = [_format_column(column, separator, where) for column in part.columns] or [
                pa.array([], pa.string())
            ]
            lines = pc.binary_join_element_wise(*fields, separator)
            file.writelines(f"{line}\n" for line in lines.to_pylist())


def _format_column(column: pa.Array, separator: str, where: str) -> pa.Array:
    """Return a column as text, quoted where needed; missing values are empty."""
    if pa.types.is_nested(column.type):
        values = (json.dumps(value, ensure_ascii=False) for value in column.to_pylist())
        column = pa.array([None if value == "null" else value for value in values], pa.string())
    text = pc.fill_null(column.cast(pa.string()), "")
    if not pa.types.is_string(column.type):
        return text
    if separator == "\t":
        broken = pc.match_substring_regex(text, "[\t\r\n]")
        if pc.any(broken).as_py():
            name = text.filter(broken)[0].as_py()
            raise DataError(f"{where}: the name {name!r} does not fit a .tsv file; write .csv or .parquet")
        return text
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return pc.if_else(pc.match_substring_regex(text, '[",\r\n]'), quoted, text)
