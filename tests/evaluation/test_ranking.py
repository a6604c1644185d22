from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.tables import TableModel, brute_force
from itransf.evaluation.ranking import Ties, rank_triples
from itransf.models import SIDES, Side
from itransf.ops.ranks import BYTES_PER_SCORE

if TYPE_CHECKING:
    from conftest import GraphMaker

ENTITIES, RELATIONS = 6, 2
TRIPLE = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))


def test_ranks_by_hand(number_graph: GraphMaker) -> None:
    # Tails of (0, r): scores 5, 7, 7, 9, 7, 1 for entities 0 .. 5; the triple asks for entity 1.
    table = np.zeros((6, 1, 6))
    table[0, 0] = [5, 7, 7, 9, 7, 1]
    graph = number_graph([(0, 0, 3)], valid=[(0, 0, 4)], test=[(0, 0, 1)], entities=6)
    ranks = rank_triples(TableModel(table), graph.test, graph.known)
    # Filtered: 3 (train) and 4 (valid) are no rivals; 2 ties.
    assert ranks.ranks("tail", filtered=True, ties="optimistic").tolist() == [1.0]
    assert ranks.ranks("tail", filtered=True, ties="realistic").tolist() == [1.5]
    assert ranks.ranks("tail", filtered=True, ties="pessimistic").tolist() == [2.0]
    # Raw: 3 is above, 2 and 4 tie.
    assert ranks.ranks("tail", filtered=False, ties="optimistic").tolist() == [2.0]
    assert ranks.ranks("tail", filtered=False, ties="realistic").tolist() == [3.0]
    assert ranks.ranks("tail", filtered=False, ties="pessimistic").tolist() == [4.0]
    # Heads of (r, 1): entity 0 scores 7, all others 0.
    assert ranks.ranks("head").tolist() == [1.0]
    assert ranks.rivals.tolist() == [[[5], [3]], [[5], [5]]]


@settings(deadline=None, max_examples=40)
@given(
    st.tuples(
        st.lists(TRIPLE, min_size=1, max_size=15),
        st.lists(TRIPLE, max_size=5),
        st.lists(TRIPLE, min_size=1, max_size=8, unique=True),
    ),
    st.integers(0, 2**31),
    st.sampled_from([1, 3, 40]),
)
def test_ranks_equal_brute_force_whatever_the_chunks(
    number_graph: GraphMaker,
    splits: tuple[list[tuple[int, int, int]], ...],
    seed: int,
    queries_per_chunk: int,
) -> None:
    graph = number_graph(*splits, entities=ENTITIES, relations=RELATIONS)
    table = np.random.default_rng(seed).integers(0, 4, (ENTITIES, RELATIONS, ENTITIES)).astype(float)
    memory = BYTES_PER_SCORE * ENTITIES * queries_per_chunk
    found = rank_triples(TableModel(table), graph.test, graph.known, memory)
    for number, side in enumerate(SIDES):
        for protocol, filtered in enumerate((True, False)):
            for ties in get_args(Ties):
                wanted = [
                    brute_force(table, graph, triple, side, filtered=filtered, ties=ties)
                    for triple in graph.test.tolist()
                ]
                assert found.ranks(side, filtered, ties).tolist() == [rank for rank, _ in wanted]
                assert found.rivals[protocol, number].tolist() == [rivals for _, rivals in wanted]


def test_a_triple_that_is_not_among_the_known_is_ranked_all_the_same(number_graph: GraphMaker) -> None:
    table = np.zeros((4, 1, 4))
    table[0, 0] = [1, 2, 3, 4]
    graph = number_graph([(0, 0, 3)], entities=4)
    ranks = rank_triples(TableModel(table), np.array([[0, 0, 1], [1, 0, 2]]), graph.known)
    assert ranks.ranks("tail").tolist() == [2.0, 2.5]  # above: 2, as 3 is known; then three ties
    assert ranks.rivals[0, 1].tolist() == [2, 3]


def test_every_relation_is_projected_once_per_side(random_graph: GraphMaker) -> None:
    graph = random_graph(entities=12, relations=3, train=30, test=25)
    asked: list[tuple[int, Side]] = []

    class Watched(TableModel):
        def scorer(self, relation: int, side: Side, pool: Any = None) -> Any:
            asked.append((relation, side))
            return super().scorer(relation, side, pool)

    rank_triples(Watched(np.zeros((12, 3, 12))), graph.test, graph.known, memory=1)
    assert len(asked) == len(set(asked)) == 6


def test_no_triples_give_no_ranks(number_graph: GraphMaker) -> None:
    graph = number_graph([(0, 0, 1)])
    ranks = rank_triples(TableModel(np.zeros((2, 1, 2))), graph.test, graph.known)
    assert ranks.ranks("head").tolist() == []


def test_progress_counts_both_sides(number_graph: GraphMaker, capsys: pytest.CaptureFixture[str]) -> None:
    graph = number_graph([(0, 0, 1)], test=[(1, 0, 0), (0, 0, 0)])
    rank_triples(TableModel(np.zeros((2, 1, 2))), graph.test, graph.known, progress=True)
    assert "ranking: 4/4 queries" in capsys.readouterr().err
