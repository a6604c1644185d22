from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.data.splits import encode, key_triples, split_triples
from itransf.errors import DataError

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
    for rows, triples in zip(tables, encoded.splits, strict=True):
        assert triples.tolist() == [[entities[h], relations[r], entities[t]] for h, r, t in rows]
        assert triples.shape == (len(rows), 3)


def test_keys_tell_triples_apart_when_their_product_would_overflow() -> None:
    entities, relations = 10**7, 10**5
    triples = np.array([[entities - 1, relations - 1, 3], [0, 0, 3], [entities - 1, relations - 1, 3]])
    first, second = key_triples([triples[:2], triples[2:]], entities, relations)
    assert first[0] == second[0]
    assert first[0] != first[1]


TRIPLE = st.tuples(st.integers(0, 8), st.integers(0, 2), st.integers(0, 8))


@settings(deadline=None)
@given(st.sets(TRIPLE, min_size=1, max_size=80), st.integers(0, 5), st.floats(0, 0.4), st.floats(0, 0.4))
def test_nothing_is_lost_and_train_knows_all(
    triples: set[tuple[int, int, int]], seed: int, valid_share: float, test_share: float
) -> None:
    array = np.array(sorted(triples), dtype=np.int64)
    parts = split_triples(array, valid_share, test_share, seed)
    lists = [[tuple(triple) for triple in part.tolist()] for part in parts]
    assert sorted(lists[0] + lists[1] + lists[2]) == sorted(triples)
    assert all(part == sorted(part) for part in lists)  # the order they came in
    train = parts[0]
    assert set(array[:, (0, 2)].reshape(-1).tolist()) == set(train[:, (0, 2)].reshape(-1).tolist())
    assert set(array[:, 1].tolist()) == set(train[:, 1].tolist())
    assert len(parts[1]) <= round(len(triples) * valid_share)
    assert len(parts[2]) <= round(len(triples) * test_share)


def test_shares_are_met_and_seeds_matter() -> None:
    triples = np.array([(h, r, t) for h in range(20) for r in range(3) for t in range(20)])
    first, again, other = (split_triples(triples, 0.1, 0.2, seed) for seed in (1, 1, 2))
    assert [len(part) for part in first] == [840, 120, 240]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[1], other[1])


def test_too_few_free_triples_are_shared_out() -> None:
    # A star: every triple is some entity's only one, but for the doubles of the second relation.
    triples = np.array([(0, 0, t) for t in range(1, 9)] + [(0, 1, t) for t in range(1, 9)])
    train, valid, test = split_triples(triples, 0.4, 0.4, 0)
    assert len(valid) + len(test) == 16 - len(train)
    assert abs(len(valid) - len(test)) <= 1
    assert set(train[:, 2].tolist()) == set(range(1, 9))


@pytest.mark.parametrize(("valid", "test"), [(-0.1, 0.1), (0.1, 1.0), (0.5, 0.5)])
def test_bad_shares(valid: float, test: float) -> None:
    with pytest.raises(DataError, match="share"):
        split_triples(np.zeros((1, 3), dtype=np.int64), valid, test)
