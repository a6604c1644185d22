"""Triples and queries as people give them: by names and labels, in Python or in files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from itransf.data import SPLITS, Graph, Triples, Vocabulary
from itransf.data.frames import holds_triples, read_triple
from itransf.data.layout import DETECTED, TRIPLE, Form, Request
from itransf.data.reading import read_columns
from itransf.errors import DataError

MARK = "?"  # of the part that a query asks for; an empty field is one, too
ASKED = -1  # index of that part
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class LabelledTriple:
    """A triple by names and labels.

    Attributes:
        head: Name of the head.
        relation: Name of the relation.
        tail: Name of the tail.
        head_label: Label of the head.
        relation_label: Label of the relation.
        tail_label: Label of the tail.
    """

    head: str
    relation: str
    tail: str
    head_label: str
    relation_label: str
    tail_label: str

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name, ready for JSON; those about an ensemble only where there is one."""
        found = asdict(self)
        agreement = found.pop("agreement", None)
        if agreement is None:
            found.pop("seed", None)
        return {**found, **(agreement or {})}


GivenTriple = Sequence[str] | Mapping[str, Any] | LabelledTriple
"""Names in order, under "head", "relation" and "tail", or an object with these attributes, such as a prediction."""


@dataclass(frozen=True)
class Query:
    """A triple whose head, relation or tail is asked for.

    Attributes:
        head: Name or label of the head; None where it is asked for.
        relation: Name or label of the relation; None where it is asked for.
        tail: Name or label of the tail; None where it is asked for.
        where: Place of the query ("queries.tsv, line 3"), for messages.
    """

    head: str | None
    relation: str | None
    tail: str | None
    where: str = ""

    def __post_init__(self) -> None:
        """Check that exactly one part is asked for."""
        parts = {"head": self.head, "relation": self.relation, "tail": self.tail}
        asked = [part for part, name in parts.items() if not name]
        if len(asked) != 1:
            what = f"{' and '.join(asked)} are asked for" if asked else "head, relation and tail are all given"
            place = f"{self.where}: " if self.where else ""
            raise DataError(f"{place}{what}; leave exactly one of the three empty (or {MARK}) to ask for it")


class TripleFile(NamedTuple):
    """Triples read from a file.

    Attributes:
        names: Head, relation and tail of each triple, or head and tail.
        locate: Function from a triple's index to its place ("triples.tsv, line 3"), for messages.
        notes: Remarks on the file.
    """

    names: Sequence[tuple[str, ...]]
    locate: Callable[[int], str]
    notes: tuple[str, ...] = ()


def name_triple(graph: Graph, triple: Sequence[int]) -> tuple[str, str, str, str, str, str]:
    """Return the names of head, relation and tail, then their labels."""
    head, relation, tail = triple
    entities, relations = graph.entities, graph.relations
    return (
        *(entities.name(head), relations.name(relation), entities.name(tail)),
        *(entities.label(head), relations.label(relation), entities.label(tail)),
    )


def locate_triple(row: int) -> str:
    """Return the place of a triple in messages where it did not come from a file."""
    return f"triple {row + 1}"


def list_names(
    triples: Iterable[Any], locate: Callable[[int], str] | None = None, pairs: bool = False
) -> list[tuple[Any, ...]]:
    """Return the names of each given triple, in the order head, relation, tail.

    Args:
        triples: Given triples.
        locate: Function from a triple's index to its place in messages; "triple 1" and so on by default.
        pairs: Whether (head, tail) without a relation is accepted as well.

    Raises:
        DataError: Something is not a triple, or the triples are not a list.
    """
    if not holds_triples(triples):
        raise DataError(f"{triples!r} is not a list of triples; give one: [('Lisbon', 'capital_of', 'Portugal')]")
    place = locate or locate_triple
    return [read_triple(triple, row, place, pairs) for row, triple in enumerate(triples)]


def resolve_triples(
    graph: Graph, triples: Iterable[GivenTriple], locate: Callable[[int], str] | None = None
) -> Triples:
    """Return triples given by names or labels as indices, (n, 3); arguments as in `list_names`."""
    numbers = resolve_each(list_names(triples, locate), partial(number_names, graph), locate or locate_triple)
    return np.array(numbers, dtype=np.int64).reshape(-1, 3)


def resolve_each(rows: Iterable[T], resolve: Callable[[T], U], locate: Callable[[int], str]) -> list[U]:
    """Return what a function makes of each row; its errors begin with the place of the row."""
    found = []
    for row, given in enumerate(rows):
        try:
            found.append(resolve(given))
        except DataError as error:
            raise DataError(f"{locate(row)}: {error}") from None
    return found


def number_names(graph: Graph, names: Sequence[Any], is_query: bool = False) -> list[int]:
    """Return the indices of a head, a relation and a tail; in a query, ASKED for None."""
    vocabularies = (graph.entities, graph.relations, graph.entities)
    if isinstance(names[1], str) and names[1] and names[2] and names[2] not in graph.entities:
        names = [*names[:2], graph.find_bin(names[1], str(names[2])) or names[2]]
    return [ASKED if is_query and name is None else v.index(name) for v, name in zip(vocabularies, names, strict=True)]


def find_problems(graph: Graph, names: Iterable[Sequence[Any]]) -> dict[int, str]:
    """Return what is unknown about triples, by their place in the list; triples without a problem are left out."""
    problems = {}
    for row, given in enumerate(names):
        try:
            number_names(graph, given)
        except DataError as error:
            problems[row] = str(error)
    return problems


def read_queries(path: str | Path) -> list[Query]:
    """Read queries: a header head, relation, tail, then lines with one of the three empty or "?".

    Args:
        path: Table with a header that names the three columns; other columns are ignored.
    """
    table = read_columns(path, Request(blanks=True))
    if not len(table):
        raise DataError(f"{path}: it has no queries; write a header (head, relation, tail), then one per line")
    if not table.header:
        raise DataError(f"{table.locate(0)}: it does not name the columns; begin with a line: head, relation, tail")
    queries = []
    for row, names in enumerate(table.rows()):
        head, relation, tail = (None if name in ("", MARK) else name for name in names)
        queries.append(Query(head, relation, tail, table.locate(row)))
    return queries


def read_triples(path: str | Path, pairs: bool = False, form: Form = DETECTED) -> TripleFile:
    """Read triples to score or to learn from.

    Args:
        path: Any file of triples that a graph can be read from.
        pairs: Whether the file may have two columns, head and tail, for a relation that is given elsewhere.
        form: What is said about the form of the file.
    """
    table = read_columns(path, Request(optional=("relation",) if pairs else (), form=form))
    if not len(table):
        columns = "head, tail" if pairs else ", ".join(TRIPLE)
        raise DataError(f"{path}: it has no triples; write one per line: {columns}")
    return TripleFile(table.rows(), table.locate, table.notes)


def read_candidates(path: str | Path, vocabulary: Vocabulary | None = None) -> list[str]:
    """Read names, one per line; blank lines are skipped.

    Args:
        path: File with one column.
        vocabulary: Vocabulary that must have the names; not checked by default.
    """
    table = read_columns(path, Request(("name",), form=Form(header=False)))
    names = [name for (name,) in table.rows()]
    if not names:
        raise DataError(f"{path}: it has no names; write one per line")
    if vocabulary is not None:
        resolve_each(names, vocabulary.index, table.locate)
    return names


def find_splits(graph: Graph, triples: Triples) -> list[str | None]:
    """Return the first split that contains each triple, or None."""
    found = np.full(len(triples), len(SPLITS))
    if graph.known.contains(triples).any():
        for number, split in reversed(list(enumerate(SPLITS))):
            found[graph.known_in(split).contains(triples)] = number
    return [(*SPLITS, None)[number] for number in found.tolist()]
