from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.data.encoding import encode

NAME = st.sampled_from(["a", "b", "c", "ä", "日本", "00260881", "NA", "null"])
TABLE = st.lists(st.tuples(NAME, NAME, NAME), max_size=12)


def make(rows: list[tuple[str, str, str]], chunk: int) -> pa.Table:
    arrays = [pa.array([row[place] for row in rows], pa.string()) for place in range(3)]
    table = pa.table(arrays, names=["head", "relation", "tail"])
    return pa.Table.from_batches(table.to_batches(max_chunksize=chunk), table.schema)


@settings(deadline=None)
@given(st.lists(TABLE, min_size=1, max_size=3), st.integers(1, 5))
def test_encoding_equals_a_dictionary(tables: list[list[tuple[str, str, str]]], chunk: int) -> None:
    encoded = encode([make(rows, chunk) for rows in tables])
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    for rows in tables:
        for place in (0, 2):
            for row in rows:
                entities.setdefault(row[place], len(entities))
        for row in rows:
            relations.setdefault(row[1], len(relations))
    assert encoded.entities == tuple(entities)
    assert encoded.relations == tuple(relations)
    for rows, triples in zip(tables, encoded.tables, strict=True):
        assert triples.tolist() == [[entities[h], relations[r], entities[t]] for h, r, t in rows]
        assert triples.shape == (len(rows), 3)
