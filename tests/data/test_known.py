from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.data.known import KnownIndex, is_among, sort_distinct

ENTITIES, RELATIONS = 6, 3
TRIPLE = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))


def to_array(triples: list[tuple[int, int, int]]) -> np.ndarray:
    return np.array(triples, dtype=np.int64).reshape(-1, 3)


@pytest.mark.parametrize("largest", [2**63, 0])  # with and without numbers of 64 bits for pairs and values
@settings(deadline=None)
@given(triples=st.lists(TRIPLE, max_size=40), queries=st.lists(TRIPLE, max_size=20))
def test_answers_equal_a_dictionary_of_sets(
    largest: int, triples: list[tuple[int, int, int]], queries: list[tuple[int, int, int]]
) -> None:
    with mock.patch("itransf.data.known.LARGEST", largest):
        known = KnownIndex(to_array(triples), ENTITIES, RELATIONS)
    tails, heads = defaultdict(set), defaultdict(set)
    for head, relation, tail in triples:
        tails[head, relation].add(tail)
        heads[relation, tail].add(head)
    asked = to_array(queries)
    offsets, values = known.answers(asked[:, 0], asked[:, 1], "tail")
    assert [values[a:b].tolist() for a, b in pairwise(offsets)] == [
        sorted(tails[head, relation]) for head, relation, _ in queries
    ]
    offsets, values = known.answers(asked[:, 2], asked[:, 1], "head")
    assert [values[a:b].tolist() for a, b in pairwise(offsets)] == [
        sorted(heads[relation, tail]) for _, relation, tail in queries
    ]
    assert known.contains(asked).tolist() == [query in triples for query in queries]
    assert offsets.dtype == values.dtype == np.int64
    assert len(offsets) == len(queries) + 1


def test_largest_sizes_do_not_overflow() -> None:
    entities, relations = 10**7, 10**5
    triples = to_array([(entities - 1, relations - 1, entities - 1), (entities - 1, relations - 1, 0), (0, 0, 5)])
    known = KnownIndex(triples, entities, relations)
    offsets, values = known.answers([entities - 1, 0, 1], [relations - 1, 0, 0], "tail")
    assert offsets.tolist() == [0, 2, 3, 3]
    assert values.tolist() == [0, entities - 1, 5]
    assert known.answers([0], [relations - 1], "head")[1].tolist() == [entities - 1]
    assert known.contains(np.concatenate((triples, [[0, 0, 6]]))).tolist() == [True, True, True, False]


def test_one_relation_serves_many_heads() -> None:
    known = KnownIndex(to_array([(0, 1, 2), (1, 1, 3)]), ENTITIES, RELATIONS)
    offsets, values = known.answers([0, 1], 1, "tail")
    assert offsets.tolist() == [0, 1, 2]
    assert values.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("heads", "relations", "told"),
    [
        ([6], [0], "entity number 6"),
        ([-1], [0], "entity number -1"),
        ([0], [3], "relation number 3 "),
    ],
)
def test_numbers_out_of_range_are_refused(heads: list[int], relations: list[int], told: str) -> None:
    known = KnownIndex(to_array([(0, 0, 1)]), ENTITIES, RELATIONS)
    with pytest.raises(IndexError, match=told):
        known.answers(heads, relations, "tail")
    with pytest.raises(IndexError):
        KnownIndex(to_array([(heads[0], relations[0], 0)]), ENTITIES, RELATIONS)
    with pytest.raises(IndexError):
        known.contains(to_array([(0, 0, 6)]))


NUMBERS = st.lists(st.integers(-5, 5), max_size=20)


@given(NUMBERS, NUMBERS)
def test_sorting_agrees_with_sets(values: list[int], others: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    distinct = sort_distinct(np.array(others, dtype=np.int64))
    assert distinct.tolist() == sorted(set(others))
    assert is_among(array, distinct).tolist() == [value in others for value in values]
