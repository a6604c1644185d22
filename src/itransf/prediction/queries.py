"""Reading what to ask: files of queries, of triples to score, of candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from itransf.data.contents import decode_text, read_content, strip_compression
from itransf.data.faults import iterate_records
from itransf.data.layout import Layout, find_columns, split_line
from itransf.data.readers import read_table
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError

ASKED = "?"  # stands for what is asked, as an empty field does
_SEPARATORS = ("\t", ",", ";", "|")


@dataclass(frozen=True)
class Query:
    """A triple with its head, its relation or its tail left open.

    Attributes:
        head: Name or label of the head; None where it is asked for.
        relation: Name or label of the relation; None where it is asked for.
        tail: Name or label of the tail; None where it is asked for.
        where: Where the query stands ("queries.tsv, line 3"), for messages.
    """

    head: str | None
    relation: str | None
    tail: str | None
    where: str = ""

    def __post_init__(self) -> None:
        """Refuse what does not ask for exactly one part."""
        parts = {"head": self.head, "relation": self.relation, "tail": self.tail}
        asked = [part for part, name in parts.items() if not name]
        if len(asked) != 1:
            what = f"{' and '.join(asked)} are asked for" if asked else "head, relation and tail are all given"
            place = f"{self.where}: " if self.where else ""
            raise DataError(f"{place}{what}; leave exactly one of the three empty (or {ASKED}) to ask for it")


class TripleFile(NamedTuple):
    """Triples that were read from a file.

    Attributes:
        names: Head, relation and tail of each, or head and tail.
        locate: Names the place of one, numbered from 0 ("triples.tsv, line 3"), for messages.
        notes: What reading found worth saying.
    """

    names: Sequence[tuple[str, ...]]
    locate: Callable[[int], str]
    notes: tuple[str, ...] = ()


def read_queries(path: str | Path) -> list[Query]:
    """Read queries: a header head, relation, tail, then lines with one of the three left empty or "?".

    Further columns that the header names are left out.

    Args:
        path: A text file, plain or compressed, with tab, comma, semicolon or bar between columns (quotes have
            a meaning in .csv only).
    """
    text = decode_text(read_content(Path(path)), str(path))
    layout = _read_header(text, Path(path))
    queries = []
    for line, _, fields in iterate_records(text.encode(), layout):
        where = f"{path}, line {line}"
        if len(fields) != layout.width:
            raise DataError(
                f"{where}: {len(fields)} column{'s' * (len(fields) != 1)} instead of {layout.width} "
                f"({', '.join(layout.names)}); write {ASKED} for what is asked"
            )
        names = (fields[place].strip() for place in layout.order)
        head, relation, tail = (None if name in ("", ASKED) else name for name in names)
        queries.append(Query(head, relation, tail, where))
    if not queries:
        raise DataError(f"{path}: there is no query below the header; write one per line")
    return queries


def read_triples(path: str | Path) -> TripleFile:
    """Read triples to score.

    Args:
        path: Any file of triples that a graph could be read from.
    """
    table = read_table(read_content(Path(path)), Path(path).name, str(path))
    heads, relations, tails = (column.to_pylist() for column in table.triples.columns)
    if not heads:
        raise DataError(f"{path}: there is no triple in it; write one per line: head, relation, tail")
    return TripleFile(list(zip(heads, relations, tails, strict=True)), table.locate, table.notes)


def read_candidates(path: str | Path, vocabulary: Vocabulary | None = None) -> list[str]:
    """Read names, one per line; blank lines are skipped.

    Args:
        path: A text file, plain or compressed.
        vocabulary: What the names must be found in; unchecked if not given.
    """
    text = decode_text(read_content(Path(path)), str(path))
    names = []
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.strip()
        if "\t" in name:
            raise DataError(f"{path}, line {number}: more than one column; write one name per line")
        if name:
            names.append(name)
            _check_name(name, vocabulary, f"{path}, line {number}")
    if not names:
        raise DataError(f"{path}: there is no name in it; write one per line")
    return names


def _check_name(name: str, vocabulary: Vocabulary | None, where: str) -> None:
    """Refuse a name that the vocabulary does not have."""
    if vocabulary is None:
        return
    try:
        vocabulary.index(name)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _read_header(text: str, path: Path) -> Layout:
    """Return how a file of queries is laid out, as its first line that is not blank says."""
    quoted = strip_compression(path.name).lower().endswith(".csv")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        for separator in _SEPARATORS:
            names = tuple(name.strip() for name in split_line(line, separator, quoted))
            order = find_columns(names)
            if order is not None:
                return Layout(separator, quoted, number, order, names)
        raise DataError(
            f"{path}, line {number}: {line[:60]!r} does not name the columns; "
            "begin the file with a line: head, relation, tail (separated by tabs or commas)"
        )
    raise DataError(f"{path}: the file is empty; begin it with a line: head, relation, tail")
