"""Reading triples to teach: two columns where the relation is known from elsewhere, or three."""

from __future__ import annotations

from pathlib import Path

from itransf.data.contents import decode_text, read_content, strip_compression
from itransf.data.faults import iterate_records
from itransf.data.layout import SEPARATORS, Layout, find_columns, split_line
from itransf.errors import DataError
from itransf.prediction.queries import TripleFile, read_triples


def read_pairs(path: str | Path) -> TripleFile:
    """Read (head, tail) lines, or any file of (head, relation, tail) triples.

    Args:
        path: For two columns a text file, plain or compressed, with tab, comma, semicolon, bar or space between them
            (quotes have a meaning in .csv only); a first line "head, tail" is a header.
    """
    path = Path(path)
    name = strip_compression(path.name).lower()
    if name.endswith(".parquet"):
        return read_triples(path)
    text = decode_text(read_content(path), str(path))
    layout = _find_two_columns(text, quoted=name.endswith(".csv"))
    if layout is None and text.strip():
        return read_triples(path)
    found = [] if layout is None else _read_two_columns(text, layout, path)
    if not found:
        raise DataError(f"{path}: there is no triple in it; write one per line: head, tail")
    lines = [line for line, _ in found]
    return TripleFile([pair for _, pair in found], lambda row: f"{path}, line {lines[row]}")


def _find_two_columns(text: str, quoted: bool) -> Layout | None:
    """Return how a text of two columns is laid out, as its first line that is not blank tells; None for any other."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        for separator in SEPARATORS:
            words = split_line(line, separator, quoted)
            if len(words) == 2:
                order = find_columns([words[0], "relation", words[1]])
                return Layout(separator, quoted) if order is None else Layout(separator, quoted, number, order)
            if len(words) > 2:
                return None
        return None
    return None


def _read_two_columns(text: str, layout: Layout, path: Path) -> list[tuple[int, tuple[str, str]]]:
    """Return the line and the (head, tail) of every record."""
    found = []
    for line, _, fields in iterate_records(text.encode(), layout):
        names = [field.strip() for field in fields]
        if len(names) != 2 or not all(names):
            raise DataError(f"{path}, line {line}: is not a head and a tail; write two names, as on the first line")
        first, second = names if layout.order[0] == 0 else reversed(names)
        found.append((line, (first, second)))
    return found
