from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.reference import EXACT, check_ranks, exact_model, score_everything
from itransf.data import typing
from itransf.errors import ITransFError
from itransf.evaluation import ranking
from itransf.evaluation.ranking import ask, rank_as_predicted, rank_triples
from itransf.models import MODELS, SIDES, Side, Sizes
from itransf.ops import ranks
from itransf.ops.ranks import BYTES_PER_SCORE
from stubs import TableModel

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

ENTITIES, RELATIONS = 6, 2
TRIPLE = st.tuples(st.integers(0, ENTITIES - 1), st.integers(0, RELATIONS - 1), st.integers(0, ENTITIES - 1))


@pytest.fixture(params=["compiled", "scores"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Rank with numba, or without it."""
    if request.param == "scores":
        monkeypatch.setattr(ranks, "load_compiled", lambda: None)
    else:
        pytest.importorskip("numba")
    return str(request.param)


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


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(
        st.lists(TRIPLE, min_size=1, max_size=15),
        st.lists(TRIPLE, max_size=5),
        st.lists(TRIPLE, min_size=1, max_size=8, unique=True),
    ),
    st.integers(0, 2**31),
    st.sampled_from([1, 3, 40]),
    st.sampled_from([None, (True, False), (False, False)]),
    st.booleans(),
    st.booleans(),
)
def test_ranks_equal_brute_force_whatever_the_chunks(
    number_graph: GraphMaker,
    splits: tuple[list[tuple[int, int, int]], ...],
    seed: int,
    queries_per_chunk: int,
    with_loops: tuple[bool, bool] | None,
    keep_scores: bool,
    typed: bool,
) -> None:
    graph = number_graph(*splits, entities=ENTITIES, relations=RELATIONS)
    table = np.random.default_rng(seed).integers(0, 4, (ENTITIES, RELATIONS, ENTITIES)).astype(float)
    memory = BYTES_PER_SCORE * ENTITIES * queries_per_chunk
    loops = None if with_loops is None else np.array(with_loops)
    model = TableModel(table)
    options: dict[str, Any] = {"loops": loops, "typing": graph.typing if typed else None, "keep_scores": keep_scores}
    with mock.patch.object(typing, "LEAST_LIFT", 0.0):  # else all entities of so small a graph fit
        found = rank_triples(model, graph.test, graph.known, memory, **options)
        check_ranks(found, table, graph, loops, typed)
    if keep_scores:
        assert found.scores is not None
        assert found.scores.tolist() == [table[tuple(graph.test.T)].tolist()] * 2


def test_a_triple_that_is_not_among_the_known_is_ranked_all_the_same(number_graph: GraphMaker) -> None:
    table = np.zeros((4, 1, 4))
    table[0, 0] = [1, 2, 3, 4]
    graph = number_graph([(0, 0, 3)], entities=4)
    ranks = rank_triples(TableModel(table), np.array([[0, 0, 1], [1, 0, 2]]), graph.known)
    assert ranks.ranks("tail").tolist() == [2.0, 2.5]  # above: 2, as 3 is known; then three ties
    assert ranks.rivals[0, 1].tolist() == [2, 3]


def test_excluded_entities_of_queries(number_graph: GraphMaker) -> None:
    graph = number_graph([(0, 0, 1), (0, 0, 2), (3, 1, 1), (3, 0, 3)], entities=5)
    triples = np.array([[0, 0, 4], [3, 1, 0], [0, 0, 1], [3, 0, 2], [1, 1, 1]])

    def list_excluded(side: Side, loops: Any = None) -> dict[tuple[int, int], list[int]]:
        questions = ask(triples, graph.known, side, loops)
        lists = np.split(questions.excluded, questions.offsets[1:-1])
        pairs = zip(questions.relations.tolist(), questions.anchors.tolist(), strict=True)
        return {pair: sorted(own.tolist()) for pair, own in zip(pairs, lists, strict=True)}

    assert list_excluded("tail") == {(0, 0): [1, 2], (0, 3): [3], (1, 1): [], (1, 3): [1]}
    assert list_excluded("head") == {(0, 1): [0], (0, 2): [0], (0, 4): [], (1, 0): [], (1, 1): [3]}
    loops = np.array([True, False])
    assert list_excluded("tail", loops) == {(0, 0): [1, 2], (0, 3): [3], (1, 1): [1], (1, 3): [1, 3]}
    assert list_excluded("head", loops) == {(0, 1): [0], (0, 2): [0], (0, 4): [], (1, 0): [0], (1, 1): [1, 3]}
    neither = np.array([False, False])
    assert list_excluded("tail", neither) == {(0, 0): [0, 1, 2], (0, 3): [3], (1, 1): [1], (1, 3): [1, 3]}


@pytest.mark.parametrize("name", EXACT)
def test_exact_models_rank_as_by_brute_force(
    configure: Configure, random_graph: GraphMaker, way: str, name: str
) -> None:
    """Where float32 is exact, neither the way of counting nor the memory changes a rank."""
    graph = random_graph(entities=12, relations=3, train=80, valid=10, test=40)
    model = exact_model(configure, name, Sizes(12, 3))
    table = score_everything(model)
    for loops in (None, np.array([True, False, False])):
        small, large = (rank_triples(model, graph.test, graph.known, memory, loops=loops) for memory in (1, 1 << 30))
        assert np.array_equal(small.above, large.above)
        assert np.array_equal(small.tied, large.tied)
        assert int(small.tied.sum()) > 0
        check_ranks(large, table, graph, loops)


def test_only_entities_that_fit_are_rivals_by_hand(number_graph: GraphMaker) -> None:
    # Entities 0 to 2 are heads, 3 to 6 are tails. Asked for are (0, r, 3) and (0, r, 2), whose tail does not fit.
    train = [(head, 0, tail) for head in (0, 1, 2) for tail in (4, 5, 6) if (head, tail) != (0, 6)]
    graph = number_graph([*train, (1, 0, 3)], valid=[(0, 0, 6)], entities=7)
    assert graph.typing.candidates(0, "tail").tolist() == [3, 4, 5, 6]
    table = np.zeros((7, 1, 7))
    table[0, 0] = [9, 9, 5, 4, 9, 2, 9]
    ranks = rank_triples(TableModel(table), np.array([[0, 0, 3], [0, 0, 2]]), graph.known, typing=graph.typing)
    assert ranks.ranks("tail").tolist() == [1.0, 1.0]  # 4, 5 and 6 are known
    assert ranks.rivals[:, 1].tolist() == [[0, 1], [3, 4]]  # 3 is a rival of 2, but not of itself
    assert ranks.ranks("tail", filtered=False).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", ["transe-1", "transr-1", "itransf-1", "dot-shared", "dot-own"])
def test_typed_ranks_of_exact_models_equal_brute_force(
    configure: Configure, random_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(typing, "LEAST_LIFT", 0.0)
    monkeypatch.setattr(ranking, "MOST_TRIPLES", 3)
    graph = random_graph(entities=12, relations=3, train=40, valid=10, test=40)
    fitting = [graph.typing.fits(entity, relation, "tail") for _, relation, entity in graph.test.tolist()]
    assert 0 < sum(fitting) < len(fitting)
    model = exact_model(configure, name, Sizes(12, 3))
    found = rank_as_predicted(model, graph, graph.test, memory=1)
    check_ranks(found, score_everything(model), graph, graph.statistics.allows_loops, typed=True)


@pytest.mark.parametrize("norm", [1, 2])
def test_metrics_equal_those_in_float64_to_four_decimals(
    configure: Configure, random_graph: GraphMaker, way: str, norm: int
) -> None:
    graph = random_graph(entities=40, relations=3, train=60, test=80)
    torch.manual_seed(0)
    model = MODELS["itransf"](Sizes(40, 3), configure("itransf", f"model.p_norm={norm}", "model.dim=30").model)
    exact = rank_triples(TableModel(score_everything(model)), graph.test, graph.known)
    for memory in (1, 1 << 30):
        found = rank_triples(model, graph.test, graph.known, memory)
        for side in SIDES:
            for measure in (lambda ranks: np.mean(1 / ranks), np.mean, lambda ranks: np.mean(ranks <= 10)):
                assert measure(found.ranks(side)) == pytest.approx(measure(exact.ranks(side)), abs=5e-5)


@pytest.mark.parametrize("name", ["stranse-1", "transe-1", "dot-shared"])
def test_neither_parts_nor_the_order_of_triples_matter(
    configure: Configure, random_graph: GraphMaker, way: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    graph = random_graph(entities=12, relations=3, train=80, valid=10, test=40)
    model = exact_model(configure, name, Sizes(12, 3))
    whole = rank_triples(model, graph.test, graph.known)
    monkeypatch.setattr(ranking, "MOST_TRIPLES", 3)  # queries that occur more than once then fall on two parts
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 2))  # each triple occurs twice
    shuffled = rank_triples(model, graph.test[order], graph.known)
    for column in ("above", "tied", "rivals"):
        assert np.array_equal(getattr(whole, column)[..., order], getattr(shuffled, column))


def test_a_query_that_occurs_twice_is_computed_once(
    configure: Configure, number_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = number_graph([(0, 0, 1)], test=[(0, 0, 2), (1, 0, 2), (0, 0, 3)], entities=5)
    model = exact_model(configure, "transe-1", Sizes(5, 1))
    asked: list[tuple[Side, list[int]]] = []
    answer = model.queries
    monkeypatch.setattr(
        model, "queries", lambda anchors, relations, side: asked.append((side, anchors.tolist()))
        or answer(anchors, relations, side),
    )  # fmt: skip
    rank_triples(model, graph.test, graph.known)
    assert asked == [("head", [2, 3]), ("tail", [0, 1])]


@pytest.mark.parametrize("name", EXACT)
def test_candidates_are_projected_once_per_relation_and_side_or_once_where_shared(
    configure: Configure, random_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch, way: str, name: str
) -> None:
    graph = random_graph(entities=12, relations=3, train=30, test=25)
    model = exact_model(configure, name, Sizes(12, 3))
    projected: list[tuple[int, Side]] = []
    queried: list[Side] = []
    project, query = model.candidates, model.queries

    def watch_candidates(relations: torch.Tensor, side: Side, pool: Any) -> torch.Tensor:
        if pool.entities is None:  # else a probe of a few entities
            projected.extend((relation, side) for relation in relations.tolist())
        return project(relations, side, pool)

    def watch_queries(anchors: torch.Tensor, relations: torch.Tensor, side: Side) -> torch.Tensor:
        queried.append(side)
        return query(anchors, relations, side)

    monkeypatch.setattr(model, "candidates", watch_candidates)
    monkeypatch.setattr(model, "queries", watch_queries)
    rank_triples(model, graph.test, graph.known, memory=1)
    is_shared = name in ("transe-1", "transe-2", "dot-shared")
    assert len(projected) == len(set(projected)) == len(queried) == (2 if is_shared else 6)


def test_models_without_queries_are_opened_once_per_relation_and_side(random_graph: GraphMaker) -> None:
    graph = random_graph(entities=12, relations=3, train=30, test=25)
    asked: list[tuple[int, Side]] = []

    class Watched(TableModel):
        def scorer(self, relation: int, side: Side, pool: Any = None) -> Any:
            asked.append((relation, side))
            return super().scorer(relation, side, pool)

    rank_triples(Watched(np.zeros((12, 3, 12))), graph.test, graph.known, memory=1)
    assert len(asked) == len(set(asked)) == 6


@pytest.mark.parametrize("name", ["transe-1", "dot-shared"])
def test_a_model_that_diverged_ranks_last_or_is_refused(
    configure: Configure, random_graph: GraphMaker, way: str, name: str
) -> None:
    graph = random_graph(entities=12, relations=3, train=30, test=25)
    model = exact_model(configure, name, Sizes(12, 3))
    with torch.no_grad():
        model.entities.fill_(torch.nan)
    ranks = rank_triples(model, graph.test, graph.known)
    assert np.array_equal(ranks.above, ranks.rivals)
    assert not ranks.tied.any()
    with pytest.raises(ITransFError, match="diverged"):
        rank_triples(model, graph.test, graph.known, keep_scores=True)


def test_no_triples_give_no_ranks(number_graph: GraphMaker) -> None:
    graph = number_graph([(0, 0, 1)])
    ranks = rank_triples(TableModel(np.zeros((2, 1, 2))), graph.test, graph.known, keep_scores=True)
    assert ranks.ranks("head").tolist() == []
    assert ranks.scores is not None
    assert ranks.scores.shape == (2, 0)


def test_progress_counts_both_sides(number_graph: GraphMaker, capsys: pytest.CaptureFixture[str]) -> None:
    graph = number_graph([(0, 0, 1)], test=[(1, 0, 0), (0, 0, 0)])
    rank_triples(TableModel(np.zeros((2, 1, 2))), graph.test, graph.known, progress=True)
    assert "ranking: 4/4 queries" in capsys.readouterr().err
