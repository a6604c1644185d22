from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
import torch

from evaluation.tables import TableModel, brute_force
from itransf.evaluation import ranking
from itransf.evaluation.ranking import Ties, rank_triples
from itransf.models import MODELS, SIDES, Model, Side, Sizes
from itransf.ops import counting

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker


@pytest.fixture(params=["compiled", "scores"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Rank as with numba, or as without it."""
    if request.param == "scores":
        monkeypatch.setattr(counting, "load_compiled", lambda: None)
    else:
        pytest.importorskip("numba")
    return str(request.param)


def score_everything(model: Model) -> npt.NDArray[Any]:
    """The score of every possible triple, (heads, relations, tails), in float64."""
    e, r = model.sizes.entities, model.sizes.relations
    cells = torch.cartesian_prod(torch.arange(e), torch.arange(r), torch.arange(e))
    with torch.no_grad():
        return copy.deepcopy(model).double().score(*cells.T).view(e, r, e).numpy()


def whole_number_model(configure: Configure, name: str, norm: int, sizes: Sizes) -> Model:
    """A model whose distances are exact in float32: ties are ties."""
    torch.manual_seed(0)
    model = MODELS[name](sizes, configure(name, "model.projected_constraint=none", f"model.p_norm={norm}").model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape).float())
        if name == "itransf":  # weights of one half are exact
            model.project_head.scores.zero_()  # type: ignore[union-attr]
            model.project_tail.scores.zero_()  # type: ignore[union-attr]
    return model


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("norm", [1, 2])
def test_models_whose_vectors_are_small_whole_numbers_rank_as_by_brute_force(
    configure: Configure, random_graph: GraphMaker, way: str, name: str, norm: int
) -> None:
    """Where float32 is exact, neither the way nor the memory nor the parts may change a single rank."""
    graph = random_graph(entities=12, relations=3, train=80, valid=10, test=40)
    model = whole_number_model(configure, name, norm, Sizes(12, 3))
    table = score_everything(model)
    small, large = (rank_triples(model, graph.test, graph.known, memory) for memory in (1, 1 << 30))
    assert np.array_equal(small.above, large.above)
    assert np.array_equal(small.tied, large.tied)
    assert int(small.tied.sum()) > 0
    for number, side in enumerate(SIDES):
        for protocol, filtered in enumerate((True, False)):
            for ties in get_args(Ties):
                wanted = [
                    brute_force(table, graph, triple, side, filtered=filtered, ties=ties)
                    for triple in graph.test.tolist()
                ]
                assert large.ranks(side, filtered, ties).tolist() == [rank for rank, _ in wanted]
                assert large.rivals[protocol, number].tolist() == [rivals for _, rivals in wanted]


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


def test_triples_of_one_relation_may_be_counted_in_parts(
    configure: Configure, random_graph: GraphMaker, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph(entities=12, relations=2, train=80, valid=10, test=40)
    model = whole_number_model(configure, "transe", 1, Sizes(12, 2))
    whole = rank_triples(model, graph.test, graph.known)
    monkeypatch.setattr(ranking, "MOST_TRIPLES", 3)  # questions asked more than once then fall on two parts
    parts = rank_triples(model, graph.test, graph.known)
    for name in ("above", "tied", "rivals"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


def test_the_order_of_triples_does_not_matter(configure: Configure, random_graph: GraphMaker, way: str) -> None:
    graph = random_graph(entities=12, relations=3, train=80, test=40)
    model = whole_number_model(configure, "stranse", 1, Sizes(12, 3))
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 2))  # and each triple is there twice
    found, shuffled = (rank_triples(model, triples, graph.known) for triples in (graph.test, graph.test[order]))
    for name in ("above", "tied", "rivals"):
        assert np.array_equal(getattr(found, name)[..., order], getattr(shuffled, name))


def test_a_question_asked_twice_is_measured_once(
    configure: Configure, number_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = number_graph([(0, 0, 1)], test=[(0, 0, 2), (1, 0, 2), (0, 0, 3)], entities=5)
    model = whole_number_model(configure, "transe", 1, Sizes(5, 1))
    asked: list[tuple[Side, list[int]]] = []
    answer = model.queries  # type: ignore[operator]
    monkeypatch.setattr(
        model, "queries", lambda anchors, relations, side: asked.append((side, anchors.tolist()))
        or answer(anchors, relations, side),
    )  # fmt: skip
    rank_triples(model, graph.test, graph.known)
    assert asked == [("head", [2, 3]), ("tail", [0, 1])]


@pytest.mark.parametrize("name", list(MODELS))
def test_models_project_their_table_once_per_relation_and_side(
    configure: Configure, random_graph: GraphMaker, monkeypatch: pytest.MonkeyPatch, way: str, name: str
) -> None:
    graph = random_graph(entities=12, relations=3, train=30, test=25)
    model = whole_number_model(configure, name, 1, Sizes(12, 3))
    asked: list[tuple[int, Side]] = []
    project = model.candidates  # type: ignore[operator]

    def watch(relations: torch.Tensor, side: Side, pool: Any) -> torch.Tensor:
        asked.extend((relation, side) for relation in relations.tolist())
        return project(relations, side, pool)

    monkeypatch.setattr(model, "candidates", watch)
    rank_triples(model, graph.test, graph.known, memory=1)
    assert len(asked) == len(set(asked)) == 6


def test_a_model_that_diverged_ranks_last(configure: Configure, random_graph: GraphMaker, way: str) -> None:
    graph = random_graph(entities=12, relations=3, train=30, test=25)
    model = whole_number_model(configure, "transe", 1, Sizes(12, 3))
    with torch.no_grad():
        model.entities.fill_(torch.nan)  # type: ignore[operator, union-attr]
    ranks = rank_triples(model, graph.test, graph.known)
    assert np.array_equal(ranks.above, ranks.rivals)
    assert not ranks.tied.any()
