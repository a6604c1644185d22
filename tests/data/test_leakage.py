from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.data import Graph, Vocabulary, describe, load, measure_leakage, mine_structure
from itransf.data.graph import SPLITS
from itransf.data.leakage import Structure, measure_overlaps
from itransf.data.planted import plant

ENTITIES, RELATIONS = 5, 4
TRIPLE = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))
Triples = set[tuple[int, int, int]]


def make_graph(train: Triples, test: Triples) -> Graph:
    splits = [np.array(sorted(triples), dtype=np.int64).reshape(-1, 3) for triples in (train, set(), test)]
    names = [str(number) for number in range(ENTITIES)]
    return Graph("g", Vocabulary(names), Vocabulary(names[:RELATIONS], kind="relation"), *splits)


def mine_by_hand(
    train: Triples, threshold: float
) -> tuple[set[tuple[int, int]], set[int], set[tuple[int, int]], list[set[tuple[int, int]]]]:
    of = {r: {(h, t) for h, x, t in train if x == r} for r in range(RELATIONS)}
    back = {r: {(t, h) for h, t in pairs} for r, pairs in of.items()}

    def overlaps(a: set[tuple[int, int]], b: set[tuple[int, int]]) -> bool:
        shared = len(a & b)
        return shared > 0 and shared / max(len(a), len(b)) >= threshold

    def implies(a: set[tuple[int, int]], b: set[tuple[int, int]]) -> bool:
        return len(a & b) > 0 and len(a & b) / len(a) >= threshold and not overlaps(a, b)

    orders = [(a, b) for a in range(RELATIONS) for b in range(RELATIONS) if a != b]
    both = [(a, b) for a in range(RELATIONS) for b in range(a + 1, RELATIONS)]
    return (
        {(a, b) for a, b in both if overlaps(of[a], back[b])},
        {a for a in range(RELATIONS) if overlaps(of[a], back[a])},
        {(a, b) for a, b in both if overlaps(of[a], of[b])},
        [{(a, b) for a, b in orders if implies(of[a], other[b])} for other in (back, of)],
    )


@settings(deadline=None, max_examples=60)
@given(st.sets(TRIPLE, min_size=1, max_size=40), st.sets(TRIPLE, max_size=15), st.sampled_from([0.3, 0.5, 0.8]))
def test_structure_and_leakage_equal_loops_over_sets(train: Triples, test: Triples, threshold: float) -> None:
    graph = make_graph(train, test)
    structure = mine_structure(graph, threshold)
    inverse, symmetric, duplicate, (one_way_inverse, one_way_duplicate) = mine_by_hand(train, threshold)
    assert {(a, b) for a, b, _ in structure.one_way_inverse} == one_way_inverse
    assert {(a, b) for a, b, _ in structure.one_way_duplicate} == one_way_duplicate
    assert {(a, b) for a, b, _ in structure.inverse} == inverse
    assert {a for a, _ in structure.symmetric} == symmetric
    assert {(a, b) for a, b, _ in structure.duplicate} == duplicate
    leakage = measure_leakage(graph, "test", structure)

    def share(hits: list[bool]) -> float:
        return sum(hits) / len(hits) if hits else 0.0

    others = range(RELATIONS)
    inverse |= {(b, a) for a, b in inverse} | one_way_inverse
    duplicate |= {(b, a) for a, b in duplicate} | one_way_duplicate
    is_inverse = [any((t, o, h) in train and (o, r) in inverse for o in others) for h, r, t in test]
    is_symmetric = [(t, r, h) in train for h, r, t in test]
    is_duplicate = [any((h, o, t) in train and (o, r) in duplicate for o in others) for h, r, t in test]
    is_shown = [triple in train for triple in test]
    assert leakage.itself == pytest.approx(share(is_shown))
    assert leakage.inverse == pytest.approx(share(is_inverse))
    assert leakage.symmetric == pytest.approx(share(is_symmetric))
    assert leakage.duplicate == pytest.approx(share(is_duplicate))
    hits = [any(hit) for hit in zip(is_shown, is_inverse, is_symmetric, is_duplicate, strict=True)]
    assert leakage.any == pytest.approx(share(hits))
    assert leakage.reversed_pair == pytest.approx(share([any((t, o, h) in train for o in others) for h, _, t in test]))
    assert leakage.same_pair == pytest.approx(share([any((h, o, t) in train for o in others) for h, _, t in test]))


def test_overlap_is_measured_on_the_larger_relation_and_strongest_comes_first() -> None:
    forward = {(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 4)}
    backward = {(t, 1, h) for h, _, t in forward}
    half = {(1, 2, 0), (2, 2, 1)}
    structure = mine_structure(make_graph(forward | backward | half, set()), threshold=0.5)
    assert structure.inverse == ((0, 1, 1.0), (0, 2, 0.5))
    assert structure.duplicate == ((1, 2, 0.5),)
    assert structure.one_way_inverse == ()
    assert structure.symmetric == ()


def test_a_small_relation_inside_a_large_one_implies_it_one_way() -> None:
    forward = {(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 4)}
    graph = make_graph(forward | {(1, 1, 0), (0, 2, 1), (1, 2, 2)}, {(3, 1, 2), (0, 2, 3), (4, 0, 3)})
    structure = mine_structure(graph)
    assert (structure.inverse, structure.duplicate) == ((), ())
    assert structure.one_way_inverse == ((1, 0, 1.0), (1, 2, 1.0))
    assert structure.one_way_duplicate == ((2, 0, 1.0),)
    # Relation 0 gives nothing of relation 1 away: most of its triples have no such reverse.
    assert measure_leakage(graph, structure=structure).inverse == 0


def test_a_graph_is_described_by_all_its_triples_and_labels_come_from_train_alone() -> None:
    forward = {(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 4)}
    backward = {(t, 1, h) for h, _, t in forward}
    held_out = {(1, 1, 0), (2, 0, 3)}
    graph = make_graph((forward | backward) - held_out, held_out)
    assert mine_structure(graph).inverse == ()
    assert mine_structure(graph, splits=("train", "valid", "test")).inverse == ((0, 1, 1.0),)
    assert measure_leakage(graph).inverse == 1.0
    assert measure_leakage(graph, structure=Structure((), (), ())).inverse == 0


def test_planted_and_bundled_structure_is_named() -> None:
    planted = plant()
    found = mine_structure(planted.graph, splits=("train", "valid", "test"))
    pairs = {frozenset(pair[:2]) for pair in (*found.inverse, *found.one_way_inverse)}
    assert pairs == {frozenset(pair) for pair in planted.inverse_pairs}
    assert {number for number, _ in found.symmetric} == set(planted.symmetric)
    structure = describe(load("world"))["structure"]
    assert {frozenset(pair["relations"]) for pair in structure["inverse"]} == {
        frozenset(pair)
        for pair in (
            ("has_member", "member_of"),
            ("city_in", "contains_city"),
            ("capital_of", "has_capital"),
            ("seat_of", "has_seat_in"),
            ("currency_of", "has_currency"),
            ("has_official_language", "official_language_of"),
            ("in_region", "includes_country"),
            ("territory_of", "has_territory"),
        )
    }
    assert {entry["relation"] for entry in structure["symmetric"]} == {"near", "borders"}
    assert {"relation": "capital_of", "implies": "city_in", "share": 1.0} in structure["one_way_duplicate"]


TRAIN = [
    ("Paris", "capital_of", "France"),
    ("Madrid", "capital_of", "Spain"),
    ("France", "has_capital", "Paris"),
    ("Spain", "has_capital", "Madrid"),
    ("France", "borders", "Spain"),
    ("Spain", "borders", "France"),
    ("Spain", "borders", "Portugal"),
    ("Portugal", "borders", "Spain"),
    ("France", "borders", "Italy"),
]


def test_description_is_complete_and_ready_for_json() -> None:
    graph = Graph.from_names("g", TRAIN, [], [("Italy", "borders", "France"), ("Portugal", "near", "Italy")])
    description = describe(graph.labelled({"borders": "is next to"}))
    assert json.loads(json.dumps(description)) == description
    assert description["entities"] == 6
    assert description["triples"] == {"train": 9, "valid": 0, "test": 2}
    assert description["relation_table"][0] == {
        "name": "borders",
        "label": "is next to",
        "train": 5,
        "valid": 0,
        "test": 1,
        "tails_per_head": 5 / 3,
        "heads_per_tail": 5 / 4,
        "category": "1-N",
        "head_domain": 3,
        "tail_domain": 4,
    }
    assert [row["name"] for row in description["relation_table"]] == [
        "borders",
        "capital_of",
        "has_capital",
        "near",
    ]
    assert description["categories"] == {
        "1-1": {"relations": 3, "train": 4},
        "1-N": {"relations": 1, "train": 5},
        "N-1": {"relations": 0, "train": 0},
        "N-N": {"relations": 0, "train": 0},
    }
    assert description["leakage"]["test"]["symmetric"] == 0.5
    assert description["leakage"]["valid"]["any"] == 0
    assert description["structure"]["inverse"] == [{"relations": ["capital_of", "has_capital"], "overlap": 1.0}]
    assert description["structure"]["symmetric"] == [{"relation": "borders", "share": 1.0}]
    assert description["notes"] == list(graph.notes)
    assert len(description["notes"]) == 2


def test_triples_that_splits_share_count_once() -> None:
    pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    train = [(head, "r", tail) for head, tail in pairs] + [(tail, "s", head) for head, tail in pairs]
    structure = mine_structure(
        Graph.from_names("overlap", train, train[:4], train[2:]), splits=("train", "valid", "test")
    )
    assert structure.inverse == ((0, 1, 1.0),)


@pytest.mark.parametrize("seed", range(3))
def test_overlaps_are_those_of_a_loop_over_triples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, [6, 3, 6], (40, 3)).tolist()
    graph = Graph.from_triples([(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rows])
    facts = {tuple(row) for split in SPLITS for row in graph.split(split).tolist()}
    for relation in range(3):
        backward, forward, sizes = measure_overlaps(graph, relation)
        own = [fact for fact in facts if fact[1] == relation]
        for other in range(3):
            assert backward[other] == sum((t, other, h) in facts for h, _, t in own) / len(own)
            assert forward[other] == sum((h, other, t) in facts for h, _, t in own) / len(own)
            assert sizes[other] == sum(fact[1] == other for fact in facts)
