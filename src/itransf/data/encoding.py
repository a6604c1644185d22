"""Turning columns of names into numbered triples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Triples = npt.NDArray[np.int64]
"""(n, 3) triples as numbers: head, relation, tail."""


@dataclass(frozen=True)
class Encoded:
    """Tables of triples as numbers over shared names.

    Attributes:
        entities: Names in the order of first appearance (heads, then tails, table by table).
        relations: Names in the order of first appearance.
        tables: (n, 3) numbers per table.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    tables: tuple[Triples, ...]


def encode(tables: Sequence[pa.Table]) -> Encoded:
    """Number the names of tables with the string columns head, relation, tail.

    The first table's names come first, so that what train holds has the lowest numbers.
    """
    chunks: list[pa.Array] = []
    for table in tables:
        for column in ("head", "tail"):
            chunks += table.column(column).chunks
    entities, numbers = _number(chunks)
    relations, relation_numbers = _number([c for table in tables for c in table.column("relation").chunks])
    encoded, place, relation_place = [], 0, 0
    for table in tables:
        count = len(table)
        triples = np.empty((count, 3), dtype=np.int64)
        triples[:, 0] = numbers[place : place + count]
        triples[:, 1] = relation_numbers[relation_place : relation_place + count]
        triples[:, 2] = numbers[place + count : place + 2 * count]
        place, relation_place = place + 2 * count, relation_place + count
        encoded.append(triples)
    return Encoded(entities, relations, tuple(encoded))


def _number(chunks: list[pa.Array]) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Return the distinct names in the order of first appearance, and every value's number."""
    encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode().unify_dictionaries()
    if not encoded.num_chunks:
        return (), np.zeros(0, dtype=np.int64)
    numbers = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    return tuple(encoded.chunk(0).dictionary.to_pylist()), numbers.astype(np.int64)
