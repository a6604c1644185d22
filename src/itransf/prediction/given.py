"""Triples as people give them, turned into numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from itransf.data.frames import holds_triples, read_triple
from itransf.data.graph import Graph, Triples
from itransf.errors import DataError
from itransf.prediction.answers import LabelledTriple

NamedTriple = tuple[str, str, str]
GivenTriple = Sequence[str] | Mapping[str, Any] | LabelledTriple
"""Names in order, under "head", "relation" and "tail", or a triple that has them, such as a prediction."""


def list_triples(triples: Iterable[Any]) -> list[Any]:
    """Return triples as a list, refusing what holds none."""
    if not holds_triples(triples):
        raise DataError(f"{triples!r} is not a list of triples; give one: [('Lisbon', 'capital_of', 'Portugal')]")
    return list(triples)


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
