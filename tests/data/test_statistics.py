from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.data.statistics import RelationStatistics
from itransf.errors import ConfigError, DataError

ENTITIES, RELATIONS = 7, 4
TRIPLE = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))


@settings(deadline=None)
@given(st.sets(TRIPLE, max_size=50))
def test_statistics_equal_a_count_by_hand(triples: set[tuple[int, int, int]]) -> None:
    statistics = RelationStatistics(np.array(sorted(triples), dtype=np.int64).reshape(-1, 3), ENTITIES, RELATIONS)
    for relation in range(RELATIONS):
        pairs = [(head, tail) for head, r, tail in triples if r == relation]
        heads, tails = {head for head, _ in pairs}, {tail for _, tail in pairs}
        assert statistics.counts[relation] == len(pairs)
        assert statistics.domain(relation, "head").tolist() == sorted(heads)
        assert statistics.domain(relation, "tail").tolist() == sorted(tails)
        assert statistics.domain_sizes("head")[relation] == len(heads)
        assert statistics.domain_sizes("tail")[relation] == len(tails)
        assert statistics.tails_per_head[relation] == pytest.approx(len(pairs) / len(heads) if heads else 0)
        assert statistics.heads_per_tail[relation] == pytest.approx(len(pairs) / len(tails) if tails else 0)


@pytest.mark.parametrize(("heads", "twice", "expected"), [(4, 0, False), (5, 0, True), (20, 1, True), (19, 1, False)])
def test_relations_that_allow_one_answer(heads: int, twice: int, expected: bool) -> None:
    pairs = [(head, 30) for head in range(heads)] + [(head, 31) for head in range(twice)]
    rows = [(head, 0, tail) for head, tail in pairs] + [(tail, 1, head) for head, tail in pairs]
    statistics = RelationStatistics(np.array(rows), 32, 3)
    assert statistics.one_tail.tolist() == [expected, False, False]
    assert statistics.one_head.tolist() == [False, expected, False]


def test_relations_that_allow_loops_have_mostly_loops() -> None:
    rows = [(0, 0, 0), (1, 0, 1), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 1, 1), (1, 1, 0)]
    assert RelationStatistics(np.array(rows), 2, 3).allows_loops.tolist() == [True, False, False]


def make_statistics(*sizes: int) -> RelationStatistics:
    triples = [(triple, relation, triple) for relation, size in enumerate(sizes) for triple in range(size)]
    return RelationStatistics(np.array(triples, dtype=np.int64), 2000, len(sizes))


def test_mapping_categories() -> None:
    one_to_one = [(0, 0, 1), (2, 0, 3)]
    one_to_many = [(0, 1, 1), (0, 1, 2), (0, 1, 3)]
    many_to_one = [(1, 2, 0), (2, 2, 0), (3, 2, 0)]
    many_to_many = [(h, 3, t) for h in range(2) for t in range(2)]
    # Two heads and two tails with three triples: exactly 1.5 each, which counts as many.
    border = [(0, 4, 0), (0, 4, 1), (1, 4, 1)]
    triples = np.array(one_to_one + one_to_many + many_to_one + many_to_many + border)
    assert RelationStatistics(triples, 4, 6).categories == ("1-1", "1-N", "N-1", "N-N", "N-N", "1-1")


def test_buckets_by_count_are_of_equal_size_most_frequent_first() -> None:
    statistics = make_statistics(5, 100, 7, 100, 1, 50, 2)
    # by frequency: 1, 3 (equal, in order), 5 | 2, 0 | 6, 4
    assert statistics.frequency_buckets(3).tolist() == [1, 0, 1, 0, 2, 0, 2]
    assert statistics.frequency_buckets(1).tolist() == [0] * 7


def test_buckets_by_logarithm_are_of_equal_width() -> None:
    statistics = make_statistics(1, 10, 99, 101, 1000)
    # 1000 .. 100 .. 10 .. 1 in three decades; the border belongs to the rarer side
    assert statistics.frequency_buckets(3, by="log").tolist() == [2, 2, 1, 0, 0]
    assert make_statistics(4, 4).frequency_buckets(3, by="log").tolist() == [0, 0]


def test_bad_buckets_are_refused() -> None:
    statistics = make_statistics(1, 2)
    with pytest.raises(ConfigError, match=r"buckets must be .* at least 1, not 0"):
        statistics.frequency_buckets(0)
    with pytest.raises(DataError, match="by 'logg'; use 'count' or 'log'"):
        statistics.frequency_buckets(2, by="logg")  # type: ignore[arg-type]
