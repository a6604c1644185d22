"""Writing tables for other programs: CSV, TSV or Parquet, as the file's name says."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from itransf.errors import ConfigError, DataError, did_you_mean
from itransf.files import replacing

SUFFIXES = (".csv", ".tsv", ".parquet")
_ROWS_AT_ONCE = 2**14  # rows turned into text together: bounds what the text takes


def write_table(table: pa.Table, path: str | Path) -> Path:
    """Write a table of plain columns; the old file stays whole until the new one is.

    Args:
        table: What to write.
        path: Its ending tells the format: .csv (quotes where they are needed), .tsv (never any) or .parquet.

    Returns:
        The path.
    """
    target = Path(path)
    suffix = check_suffix(target)
    with replacing(target) as temporary:
        if suffix == ".parquet":
            pq.write_table(table, temporary)
        else:
            _write_text(table, temporary, "," if suffix == ".csv" else "\t", str(target))
    return target


def check_suffix(path: Path) -> str:
    """Return the path's ending in lower case if tables can be written so."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        what = f"the ending {path.suffix!r}" if path.suffix else "a name without an ending"
        raise ConfigError(
            f"{path}: {what} does not tell a table's format; "
            f"use {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.{did_you_mean(suffix, SUFFIXES)}"
        )
    return suffix


def _write_text(table: pa.Table, path: Path, separator: str, where: str) -> None:
    """Write a header and one line per row."""
    with path.open("w", encoding="utf-8", newline="") as file:
        header = pa.table([pa.array([name]) for name in table.column_names], names=table.column_names)
        for part in (header, *table.to_batches(max_chunksize=_ROWS_AT_ONCE)):
            fields = [_format_column(column, separator, where) for column in part.columns]
            lines = pc.binary_join_element_wise(*fields, separator)
            file.writelines(f"{line}\n" for line in lines.to_pylist())


def _format_column(column: pa.Array, separator: str, where: str) -> pa.Array:
    """Return a column as text that can stand between separators; what is missing is left empty."""
    text = pc.fill_null(column.cast(pa.string()), "")
    if not pa.types.is_string(column.type):
        return text
    if separator == "\t":
        broken = pc.match_substring_regex(text, "[\t\r\n]")
        if pc.any(broken).as_py():
            name = text.filter(broken)[0].as_py()
            raise DataError(f"{where}: the name {name!r} cannot stand in a .tsv file; write .csv or .parquet")
        return text
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return pc.if_else(pc.match_substring_regex(text, '[",\r\n]'), quoted, text)
