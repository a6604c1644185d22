from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from evaluation.reference import check_ranks, exact_model, score_everything
from itransf.data.graph import Graph
from itransf.evaluation import ranking
from itransf.evaluation.ranking import (
    can_rank_on_device,
    cut_into_turns,
    rank_as_predicted,
    rank_triples,
)
from itransf.models import Sizes
from itransf.ops import counting_cuda
from stubs import TableModel

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

pytest.importorskip("triton")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES = Sizes(13, 4)
TILING = {"TILE_QUERIES": 4, "TILE_CANDIDATES": 16, "TILE_WARPS": 1, "UNROLLED": 2}


@pytest.fixture(scope="module")
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(SIZES.entities, SIZES.relations, train=60, valid=8, test=14)


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank by the kernels, which are interpreted where there is no GPU."""
    monkeypatch.setattr(ranking, "can_rank_on_device", lambda model: True)
    for name, size in TILING.items():
        monkeypatch.setattr(counting_cuda, name, size)


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("loops", [None, np.array([True, False, False, True])])
@pytest.mark.parametrize("name", ["itransf-1", "itransf-2", "transe-1", "transe-2"])
def test_ranks_equal_brute_force(configure: Configure, graph: Graph, name: str, loops: Any) -> None:
    model = exact_model(configure, name, SIZES).to(DEVICE)
    found = rank_triples(model, graph.test, graph.known, loops=loops)
    check_ranks(found, score_everything(model), graph, loops)
    assert found.tied.sum() > 0


@pytest.mark.parametrize("name", ["itransf-1", "transe-1"])
def test_ranks_among_entities_that_fit_equal_brute_force(configure: Configure, graph: Graph, name: str) -> None:
    model = exact_model(configure, name, SIZES).to(DEVICE)
    found = rank_as_predicted(model, graph, graph.test, keep_scores=True)
    check_ranks(found, score_everything(model), graph, graph.statistics.allows_loops, typed=True)


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("memory", [1, 3 * SIZES.entities * 4 * 4 * 2])
def test_the_memory_changes_nothing(
    configure: Configure, graph: Graph, memory: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """One query at a time; then two relations at a time."""
    model = exact_model(configure, "itransf-1", SIZES).to(DEVICE)
    triples = graph.test[:6]
    bounded = rank_triples(model, triples, graph.known, memory, progress=True)
    whole = rank_triples(model, triples, graph.known)
    for column in ("above", "tied", "rivals"):
        assert np.array_equal(getattr(bounded, column), getattr(whole, column))
    assert "ranking: 12/12 queries" in capsys.readouterr().err


@pytest.mark.usefixtures("on_device")
def test_no_triples_give_no_ranks(configure: Configure, graph: Graph) -> None:
    found = rank_triples(exact_model(configure, "itransf-1", SIZES).to(DEVICE), graph.test[:0], graph.known)
    assert found.above.shape == found.rivals.shape == (2, 2, 0)


def test_turns_keep_relations_together_where_they_fit() -> None:
    relations = np.array([0, 0, 0, 2, 5, 5, 7])
    assert list(cut_into_turns(relations, (10, 1), 20)) == [(0, 4), (4, 7)]
    assert list(cut_into_turns(relations, (10, 1), 1)) == [(place, place + 1) for place in range(7)]
    assert list(cut_into_turns(relations, (10, 10), 20)) == [(0, 2), (2, 4), (4, 6), (6, 7)]
    assert list(cut_into_turns(relations, (10, 1), 1000)) == [(0, 7)]
    assert list(cut_into_turns(relations[:0], (10, 1), 20)) == []


def test_only_float32_distances_on_a_gpu_are_ranked_by_kernels(configure: Configure) -> None:
    model = exact_model(configure, "transe-1", SIZES).to(DEVICE)
    assert can_rank_on_device(model) == torch.cuda.is_available()
    assert not can_rank_on_device(model.double())
    assert not can_rank_on_device(exact_model(configure, "dot-shared", SIZES).to(DEVICE))
    assert not can_rank_on_device(TableModel(np.zeros((2, 1, 2))))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", ["itransf-1", "transe-2", "dot-shared", "dot-own"])
def test_ranks_of_models_on_a_gpu_equal_brute_force(configure: Configure, graph: Graph, name: str) -> None:
    model = exact_model(configure, name, SIZES).to(DEVICE)
    loops = np.array([True, False, False, True])
    for keep_scores in (False, True):
        found = rank_triples(model, graph.test, graph.known, loops=loops, keep_scores=keep_scores)
        check_ranks(found, score_everything(model), graph, loops)
