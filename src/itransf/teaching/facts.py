"""Reading facts to teach: two columns where the relation is known from elsewhere, or three."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from itransf.data.contents import decode_text, read_content, strip_compression
from itransf.data.faults import iterate_records
from itransf.data.layout import Layout, match_header, split_line
from itransf.errors import DataError
from itransf.prediction.queries import read_facts

_SEPARATORS = ("\t", ",", ";", "|")


def read_pairs(path: str | Path) -> tuple[list[tuple[str, ...]], Callable[[int], str]]:
    """Read (head, tail) lines, or any file of (head, relation, tail) facts.

    Args:
        path: For two columns a text file, plain or compressed, with tab, comma, semicolon or bar between them
            (quotes have a meaning in .csv only); a first line "head, tail" is a header.

    Returns:
        The facts, and what names the place of each (numbered from 0).
    """
    path = Path(path)
    layout = None if strip_compression(path.name).lower().endswith(".parquet") else _find_two_columns(path)
    if layout is None:
        facts, locate = read_facts(path)
        return list(facts), locate
    pairs, lines = [], []
    for line, _, fields in iterate_records(_read_text(path).encode(), layout):
        pair = tuple(field.strip() for field in fields)
        if len(pair) != 2 or not all(pair):
            raise DataError(f"{path}, line {line}: is not a head and a tail; write two names, as on the first line")
        pairs.append(pair if layout.order[0] == 0 else pair[::-1])
        lines.append(line)
    if not pairs:
        raise DataError(f"{path}: there is no fact in it; write one per line: head, tail")
    return list(pairs), lambda row: f"{path}, line {lines[row]}"


def _find_two_columns(path: Path) -> Layout | None:
    """Return how a file of two columns is laid out, None for any other."""
    quoted = strip_compression(path.name).lower().endswith(".csv")
    for number, line in enumerate(_read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        for separator in _SEPARATORS:
            words = split_line(line, separator, quoted)
            if len(words) == 2:
                order = match_header([words[0], "relation", words[1]])
                return Layout(separator, quoted) if order is None else Layout(separator, quoted, number, order)
            if len(words) > 2:
                return None
        return None
    return None


def _read_text(path: Path) -> str:
    return decode_text(read_content(path), str(path))
