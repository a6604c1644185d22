"""Reading what to ask: files of queries, of triples to score, of candidates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from itransf.data.layout import TRIPLE
from itransf.data.reading import read_columns
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError

ASKED = "?"  # stands for what is asked, as an empty field does


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
    """Read queries: a header head, relation, tail, then lines with one of the three empty or "?".

    Args:
        path: A table with a header that names the three columns; other columns are left out.
    """
    table = read_columns(path, blanks=True)
    if not len(table):
        raise DataError(f"{path}: there is no query in it; write a header (head, relation, tail), then one per line")
    if not table.header:
        raise DataError(f"{table.locate(0)}: it does not name the columns; begin with a line: head, relation, tail")
    queries = []
    for row, names in enumerate(table.rows()):
        head, relation, tail = (None if name in ("", ASKED) else name for name in names)
        queries.append(Query(head, relation, tail, table.locate(row)))
    return queries


def read_triples(path: str | Path, pairs: bool = False) -> TripleFile:
    """Read triples to score or to learn from.

    Args:
        path: Any file of triples that a graph could be read from.
        pairs: Whether the file may have two columns, head and tail, for a relation that is known from elsewhere.
    """
    table = read_columns(path, optional=("relation",) if pairs else ())
    if not len(table):
        columns = "head, tail" if pairs else ", ".join(TRIPLE)
        raise DataError(f"{path}: there is no triple in it; write one per line: {columns}")
    return TripleFile(table.rows(), table.locate, table.notes)


def read_candidates(path: str | Path, vocabulary: Vocabulary | None = None) -> list[str]:
    """Read names, one per line; blank lines are skipped.

    Args:
        path: A file with one column.
        vocabulary: Vocabulary that must have the names; unchecked if not given.
    """
    table = read_columns(path, ("name",), header=False)
    names = [name for (name,) in table.rows()]
    if not names:
        raise DataError(f"{path}: there is no name in it; write one per line")
    for row, name in enumerate(names):
        try:
            if vocabulary is not None:
                vocabulary.index(name)
        except DataError as error:
            raise DataError(f"{table.locate(row)}: {error}") from None
    return names
