"""Reading labels: a two-column file of names and what a person reads instead."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from itransf.data.contents import decode_text, read_content
from itransf.errors import DataError

_SEPARATORS = ("\t", ",", ";", "|")


def read_labels(path: Path) -> dict[str, str]:
    """Read a label file: name and label, separated by a tab, comma, semicolon or bar; plain or compressed.

    In a tab-separated file further columns are ignored. The first label of a name counts.
    """
    content = read_content(path)
    text = decode_text(content, str(path))
    separator = next((mark for mark in _SEPARATORS if mark in text), None)
    if separator is None:
        if not text.strip():
            raise DataError(f"{path}: the label file is empty; give it lines of name, tab, label")
        raise DataError(
            f"{path}, line 1: no separator found; a label file has two columns (name, label) with a tab between them"
        )
    labels: dict[str, str] = {}
    for number, fields in _split_lines(text, separator):
        if len(fields) < 2 or (len(fields) > 2 and separator != "\t"):
            raise DataError(
                f"{path}, line {number}: {len(fields)} column{'s' * (len(fields) != 1)} instead of 2 "
                "(name, label); separate them with a tab, or quote a label that holds the separator"
            )
        name, label = fields[0].strip(), fields[1].strip()
        if name and label:
            labels.setdefault(name, label)
    return labels


def _split_lines(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not blank."""
    lines = io.StringIO(text, newline="")
    if separator == "\t":
        rows = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(lines, delimiter=separator)
    for fields in rows:
        if any(field.strip() for field in fields):
            yield rows.line_num, fields
