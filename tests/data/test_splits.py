from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.data.graph import SPLITS, Graph
from itransf.data.known import key_triples
from itransf.data.splits import SplitRule, encode
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
    first, second = key_triples([triples[:2], triples[2:]])
    assert first[0] == second[0]
    assert first[0] != first[1]


TRIPLE = st.tuples(st.integers(0, 8), st.integers(0, 2), st.integers(0, 8))
TRIPLES = st.lists(TRIPLE, min_size=1, max_size=60, unique=True)
RULE = st.builds(SplitRule, st.integers(0, 5), st.floats(0, 0.4), st.floats(0, 0.4))
ENTITIES, RELATIONS = [f"e{number}" for number in range(20)], ["r", "s", "t"]
WORD = 2**64


def assign_one_by_one(rows: list[tuple[int, int, int]], rule: SplitRule) -> list[int]:
    """Assign triples to splits as the documentation says it, with whole numbers of Python."""

    def hash_name(name: str) -> int:
        return int.from_bytes(hashlib.blake2b(f"{rule.seed}\n{name}".encode(), digest_size=8).digest(), "little")

    seen: set[str] = set()
    parts = []
    for head, relation, tail in rows:
        names = [ENTITIES[head], RELATIONS[relation], ENTITIES[tail]]
        mixed = 0
        for name in names:
            mixed = (mixed + hash_name(name)) % WORD
            mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % WORD
            mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % WORD
            mixed ^= mixed >> 31
        share = (mixed >> 11) / 2**53
        is_new = not seen.issuperset(names)
        seen.update(names)
        parts.append(
            0 if is_new or share >= rule.valid_share + rule.test_share else 1 if share < rule.valid_share else 2
        )
    return parts


@settings(deadline=None)
@given(TRIPLES, RULE)
def test_the_split_equals_that_of_one_triple_after_another(rows: list[tuple[int, int, int]], rule: SplitRule) -> None:
    assert rule.assign(np.array(rows), ENTITIES, RELATIONS).tolist() == assign_one_by_one(rows, rule)


@settings(deadline=None)
@given(TRIPLES, st.integers(1, 60), RULE)
def test_appended_rows_move_nothing(rows: list[tuple[int, int, int]], size: int, rule: SplitRule) -> None:
    names = [(ENTITIES[h], RELATIONS[r], ENTITIES[t]) for h, r, t in rows]
    shares = {"valid_share": rule.valid_share, "test_share": rule.test_share, "seed": rule.seed}
    before, after = (Graph.from_triples(part, **shares) for part in (names[:size], names))

    def name(graph: Graph, split: str) -> set[tuple[str, ...]]:
        triples = graph.split(split).tolist()
        return {(graph.entities.name(h), graph.relations.name(r), graph.entities.name(t)) for h, r, t in triples}

    for split in SPLITS:
        assert name(after, split) & set(names[:size]) == name(before, split)
    assert set.union(*(name(after, split) for split in SPLITS)) == set(names)
    for columns in ((0, 2), (1,)):
        held_out = np.concatenate([after.valid, after.test])[:, columns]
        assert set(held_out.reshape(-1).tolist()) <= set(after.train[:, columns].reshape(-1).tolist())


@settings(deadline=None)
@given(TRIPLES, st.integers(1, 60), RULE)
def test_names_that_are_known_need_no_first_triple(
    rows: list[tuple[int, int, int]], size: int, rule: SplitRule
) -> None:
    encoded = encode([make([(ENTITIES[h], RELATIONS[r], ENTITIES[t]) for h, r, t in rows], 60)])
    triples = encoded.splits[0]
    # Numbered by their first appearance in the rows, as those of a graph that grows are.
    order = {name: number for number, name in enumerate(dict.fromkeys(triples[:, (0, 2)].reshape(-1).tolist()))}
    triples = np.array([(order[h], r, order[t]) for h, r, t in triples.tolist()])
    entities = [encoded.entities[number] for number in order]
    known = len({*triples[:size, 0].tolist(), *triples[:size, 2].tolist()}), len({*triples[:size, 1].tolist()})
    parts = rule.assign(triples, entities, encoded.relations)
    later = rule.assign(triples[size:], entities, encoded.relations, known)
    assert later.tolist() == parts[size:].tolist()


def test_shares_are_nearly_met_and_seeds_matter() -> None:
    triples = np.array([(h, r, t) for h in range(60) for r in range(3) for t in range(60)])
    names = [f"e{number}" for number in range(60)]
    first, other = (SplitRule(seed, 0.1, 0.2).assign(triples, names, RELATIONS) for seed in (1, 2))
    assert np.bincount(first) / len(triples) == pytest.approx([0.7, 0.1, 0.2], abs=0.015)
    assert (first == other).mean() == pytest.approx(0.7**2 + 0.1**2 + 0.2**2, abs=0.03)


@pytest.mark.parametrize(("valid", "test"), [(-0.1, 0.1), (0.1, 1.0), (0.5, 0.5)])
def test_bad_shares(valid: float, test: float) -> None:
    with pytest.raises(DataError, match="share"):
        SplitRule(0, valid, test)
