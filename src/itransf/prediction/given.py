"""Triples as people give them, turned into numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from itransf.data.graph import Graph, Triples
from itransf.errors import DataError
from itransf.prediction.answers import LabelledTriple

NamedTriple = tuple[str, str, str]
GivenTriple = Sequence[str] | Mapping[str, Any] | LabelledTriple
"""Names in order, under "head", "relation" and "tail", or a triple that has them, such as a prediction."""

_PARTS = ("head", "relation", "tail")


def list_triples(triples: Iterable[Any]) -> list[Any]:
    """Return triples as a list, refusing what holds none."""
    if isinstance(triples, str | Mapping) or not isinstance(triples, Iterable):
        raise DataError(f"{triples!r} is no list of triples; give one, such as [('Lisbon', 'capital_of', 'Portugal')]")
    return list(triples)


def read_names(triple: Any) -> tuple[Any, ...]:
    """Return the names a triple is given by, in the order head, relation, tail; none for what is no triple."""
    if isinstance(triple, Mapping):
        return tuple(triple[part] for part in _PARTS if part in triple)
    if isinstance(triple, str | bytes | set | frozenset):  # letters, or names in no order
        return ()
    if isinstance(triple, Iterable):
        return tuple(triple)
    return tuple(getattr(triple, part) for part in _PARTS if hasattr(triple, part))


def read_triple(triple: Any, row: int, locate: Callable[[int], str]) -> tuple[Any, Any, Any]:
    """Return the names of head, relation and tail, refusing what has not all three."""
    names = read_names(triple)
    if len(names) != 3:
        raise DataError(f"{locate(row)}: {triple!r} is no triple; give three names: (head, relation, tail)")
    return names[0], names[1], names[2]


def resolve_triples(graph: Graph, triples: Iterable[GivenTriple], locate: Callable[[int], str]) -> Triples:
    """Return triples given by names or labels as numbers, (n, 3)."""
    vocabularies = (graph.entities, graph.relations, graph.entities)
    given = list_triples(triples)
    triples = np.empty((len(given), 3), dtype=np.int64)
    for row, triple in enumerate(given):
        names = read_triple(triple, row, locate)
        try:
            triples[row] = [v.index(name) for v, name in zip(vocabularies, names, strict=True)]
        except DataError as error:
            raise DataError(f"{locate(row)}: {error}") from None
    return triples
