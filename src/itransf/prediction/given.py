"""Facts as people give them, turned into numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from itransf.data.graph import Graph, Triples
from itransf.errors import DataError
from itransf.prediction.answers import LabelledFact

NamedFact = tuple[str, str, str]
GivenFact = Sequence[str] | Mapping[str, Any] | LabelledFact
"""Names in order, under "head", "relation" and "tail", or a fact that has them, such as a prediction."""

_PARTS = ("head", "relation", "tail")


def list_facts(facts: Iterable[Any]) -> list[Any]:
    """Return facts as a list, refusing what holds none."""
    if isinstance(facts, str | Mapping) or not isinstance(facts, Iterable):
        raise DataError(f"{facts!r} is no list of facts; give one, such as [('Lisbon', 'capital_of', 'Portugal')]")
    return list(facts)


def read_names(fact: Any) -> tuple[Any, ...]:
    """Return the names a fact is given by, in the order head, relation, tail; none for what is no fact."""
    if isinstance(fact, Mapping):
        return tuple(fact[part] for part in _PARTS if part in fact)
    if isinstance(fact, str | bytes | set | frozenset):  # letters, or names in no order
        return ()
    if isinstance(fact, Iterable):
        return tuple(fact)
    return tuple(getattr(fact, part) for part in _PARTS if hasattr(fact, part))


def read_fact(fact: Any, row: int, locate: Callable[[int], str]) -> tuple[Any, Any, Any]:
    """Return the names of head, relation and tail, refusing what has not all three."""
    names = read_names(fact)
    if len(names) != 3:
        raise DataError(f"{locate(row)}: {fact!r} is no fact; give three names: (head, relation, tail)")
    return names[0], names[1], names[2]


def resolve_facts(graph: Graph, facts: Iterable[GivenFact], locate: Callable[[int], str]) -> Triples:
    """Return facts given by names or labels as numbers, (n, 3)."""
    vocabularies = (graph.entities, graph.relations, graph.entities)
    given = list_facts(facts)
    triples = np.empty((len(given), 3), dtype=np.int64)
    for row, fact in enumerate(given):
        names = read_fact(fact, row, locate)
        try:
            triples[row] = [v.index(name) for v, name in zip(vocabularies, names, strict=True)]
        except DataError as error:
            raise DataError(f"{locate(row)}: {error}") from None
    return triples
