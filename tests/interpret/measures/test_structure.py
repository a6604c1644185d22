"""Reading a model, gold labels, and the measures that look at attention alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from interpret.measures.readings import make_reading, sure
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.interpret.measures.reading import (
    Reading,
    check_same_graph,
    draw_random,
    find_top,
    group_directions,
    read_model,
    scale_rows,
)
from itransf.interpret.measures.structure import (
    Gold,
    compare_groupings,
    measure_common,
    measure_domains,
    measure_inverses,
    measure_sparsity,
    measure_stability,
    measure_symmetry,
    mine_gold,
)
from itransf.models import MODELS, Sizes
from itransf.models.base import Model
from itransf.run import Run

DRAWS = 200
COUNT = 12  # relations: pairs (0, 1), (2, 3), (4, 5); 6 and 7 symmetric


@pytest.fixture(scope="module")
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=15, relations=COUNT, train=150)


@pytest.fixture(scope="module")
def gold() -> Gold:
    symmetric = np.isin(np.arange(COUNT), (6, 7))
    return Gold(np.array([[0, 1], [3, 2], [4, 5]]), symmetric, np.arange(COUNT) // 4)


@pytest.fixture(scope="module")
def mirrored(graph: Graph) -> Reading:
    """Every side has a concept of its own, but for mirrors and symmetric relations."""
    tops = np.arange(2 * COUNT).reshape(2, COUNT)
    for left, right in ((0, 1), (2, 3), (4, 5)):
        tops[:, right] = tops[::-1, left]
    tops[1, [6, 7]] = tops[0, [6, 7]]
    return make_reading(graph, np.eye(2 * COUNT)[tops])


def test_sparsity_counts_sides_that_keep_to_k(graph: Graph) -> None:
    weights = np.zeros((2, COUNT, 4))
    weights[:, :, 0], weights[:, :, 1] = 0.75, 0.25
    whole = make_reading(graph, weights)
    assert measure_sparsity([whole], 2, DRAWS).value == 1.0
    assert measure_sparsity([whole], 1, DRAWS).value == 0.0
    weights[0, 0, 0] = 0.5  # does not sum to one
    weights[1, 1] = (1.5, -0.5, 0.0, 0.0)  # neither do its absolute values
    weights[1, 2] = (0.75, -0.25, 0.0, 0.0)  # these do
    found = measure_sparsity([whole, make_reading(graph, weights)], 2, DRAWS)
    assert found.runs == pytest.approx((1.0, 22 / 24))
    assert sure(found.low) < 1.0
    assert (found.n, found.p) == (24, None)
    assert measure_sparsity([replace(whole, weights=None)], 2, DRAWS).value is None


def test_mirrored_attention_is_found(mirrored: Reading, gold: Gold) -> None:
    found = measure_inverses([mirrored], gold, DRAWS)
    assert (found.value, found.low, found.high, found.n) == (1.0, 1.0, 1.0, 3)
    assert found.p == pytest.approx(1 / (DRAWS + 1))
    assert sure(found.null) < 0.3
    chance = measure_inverses([draw_random(mirrored, seed) for seed in range(5)], gold, DRAWS)
    assert sure(chance.p) > 0.05


def test_inverses_have_concepts_in_common(graph: Graph, gold: Gold, mirrored: Reading) -> None:
    found = measure_common([mirrored], gold, DRAWS)
    assert (found.value, found.n) == (1.0, 3)
    assert sure(found.null) < 0.3
    weights = np.zeros((1, COUNT, 20), dtype=np.float32)
    for relation in range(COUNT):
        weights[0, relation, [relation, relation + 1, 19]] = (0.5, -0.3, 0.2)
    weights[0, 5, 6] = 0  # so that 5 has two concepts, one of them in common with 4, and 19
    half = replace(make_reading(graph, weights), signs=np.ones(20, dtype=np.float32))
    assert measure_common([half], gold, DRAWS).value == pytest.approx((2 / 3 + 2 / 3 + 2 / 2) / 3)
    assert measure_common([replace(mirrored, weights=None)], gold).value is None


def test_equal_relations_are_not_inverses(graph: Graph, gold: Gold) -> None:
    tops = np.arange(2 * COUNT).reshape(2, COUNT)
    tops[:, [1, 3, 5]] = tops[:, [0, 2, 4]]
    found = measure_inverses([make_reading(graph, np.eye(2 * COUNT)[tops])], gold, DRAWS)
    assert sure(found.value) < 0.2


def test_equal_ends_are_found(mirrored: Reading, gold: Gold) -> None:
    found = measure_symmetry([mirrored], gold, DRAWS)
    assert (found.value, found.n, found.counted) == (1.0, 2, "of 12 relations symmetric in train")
    assert found.null == pytest.approx(0.5, abs=0.1)
    assert found.p == pytest.approx(1 / 66, abs=0.02)  # 66 ways to choose 2 of 12
    flat = measure_symmetry([replace(mirrored, sides=np.ones_like(mirrored.sides))], gold, DRAWS)
    assert (flat.value, flat.p) == (0.5, 1.0)


def test_without_gold_there_is_nothing_to_find(mirrored: Reading) -> None:
    nothing = Gold(np.zeros((0, 2), dtype=np.int64), np.zeros(COUNT, dtype=np.bool_), None)
    assert measure_inverses([mirrored], nothing).value is None
    assert measure_symmetry([mirrored], nothing).value is None
    assert [found.value for found in measure_domains([mirrored], nothing, 3)] == [None, None]


def test_domains_by_top_concept(graph: Graph, gold: Gold) -> None:
    assert gold.domains is not None
    pure = make_reading(graph, np.eye(6)[np.stack([gold.domains, gold.domains + 3])])
    purity, information = measure_domains([pure], gold, 6, DRAWS)
    assert purity.value == 1.0
    assert purity.p == information.p == pytest.approx(1 / (DRAWS + 1))
    assert information.value == pytest.approx(2 * np.log(3) / (np.log(3) + np.log(6)))
    assert sure(purity.null) < 0.8
    for found in measure_domains([draw_random(pure)], gold, 6, DRAWS):
        assert sure(found.p) > 0.05
        assert sure(found.low) < sure(found.value)


def test_stability_over_seeds(mirrored: Reading) -> None:
    assert mirrored.weights is not None
    grouped = np.eye(4, dtype=np.float32)[np.arange(2 * COUNT).reshape(2, COUNT) % 4]
    one = replace(mirrored, weights=grouped)
    renamed = replace(mirrored, weights=-grouped[:, :, ::-1])
    other = replace(one, weights=grouped[:, np.arange(COUNT) // 2])
    mixed = measure_stability([one, renamed, other], 4, DRAWS)
    for same, found in zip(measure_stability([one, renamed, one], 4, DRAWS), mixed, strict=True):
        assert (same.value, same.n) == (1.0, 3)
        assert same.null == pytest.approx(0.0, abs=0.05)
        assert sure(found.low) < sure(found.value) < 1.0
    assert [found.value for found in measure_stability([one], 4)] == [None, None]


def test_groups_by_all_weights_do_not_depend_on_which_of_two_equal_weights_is_larger(graph: Graph) -> None:
    kinds = np.arange(COUNT) % 3
    first = np.zeros((COUNT, 5))
    first[np.arange(COUNT), 2 * kinds.clip(0, 1)] = 1.0
    first[kinds < 2] += 0.99 * np.roll(first[kinds < 2], 1, axis=1)  # two concepts, nearly equal
    first[kinds == 2] = np.eye(5)[4]
    other = first.copy()
    other[::2, :4] = first[::2, :4].reshape(-1, 2, 2)[:, :, ::-1].reshape(-1, 4)  # of half of them the other is larger
    signs = np.ones(5, dtype=np.float32)
    runs = [replace(make_reading(graph, each[None]), signs=signs) for each in (first, other)]
    by_top, by_all = measure_stability(runs, 5, DRAWS)
    assert sure(by_top.value) < 1.0
    assert by_all.value == 1.0


def test_sides_that_are_alone_in_both_runs_do_not_count(graph: Graph) -> None:
    tops = np.array([0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8])
    other = np.array([0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    signs = np.ones(10, dtype=np.float32)
    runs = [replace(make_reading(graph, np.eye(10)[each][None]), signs=signs) for each in (tops, other)]
    few = measure_stability(runs, 10, DRAWS)[0]
    assert few.value == pytest.approx(compare_groupings(tops[:6], other[:6]))
    assert few.value != pytest.approx(compare_groupings(tops, other))
    assert "12 relations in 9 groups, the largest of 2, 6 of one" in few.remark


def test_gold_is_mined_from_train_alone(number_graph: Callable[..., Graph]) -> None:
    ahead = [(i, 0, i + 1) for i in range(0, 10, 2)]
    back = [(t, 1, h) for h, _, t in ahead]
    both = [(0, 2, 5), (5, 2, 0), (1, 2, 7), (7, 2, 1)]
    single = [(0, 3, 9)]
    gold = mine_gold(number_graph([*ahead, *back, *both, *single], test=[(9, 3, 0)]))
    assert gold.inverse.tolist() == [[0, 1]]
    assert gold.symmetric.tolist() == [False, False, True, False]
    assert gold.domains is None
    split = mine_gold(number_graph([*ahead, *both], valid=back, relations=4))
    assert split.inverse.tolist() == []


def test_the_domain_is_the_first_part_of_the_name() -> None:
    names = ["/film/film/genre", "/people/person/spouse", "/film/actor/film./film/performance/film"]
    gold = mine_gold(Graph.from_names("g", [("a", name, "b") for name in names]))
    assert gold.domains is not None
    np.testing.assert_array_equal(gold.domains, [0, 1, 0])
    mixed = mine_gold(Graph.from_names("g", [("a", name, "b") for name in [*names, "borders", "/x"]]))
    assert mixed.domains is None


@pytest.fixture(scope="module")
def few(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=12, relations=4)


def test_sides_are_directions_of_weights_or_matrices(few: Graph, short: Callable[..., Run]) -> None:
    itransf = read_model(short(few, "itransf", "training.epochs=1").model, few, "i")
    run = short(few, "stranse", "training.epochs=1")
    stranse = read_model(run.model, few, "s")
    assert itransf.sides.shape == (2, 4, 5)
    assert stranse.sides.shape == (2, 4, 16)
    assert stranse.weights is None
    flat: Any = run.model.project_tail.weight.detach() - torch.eye(4).flatten()  # type: ignore[union-attr]
    wanted = torch.nn.functional.cosine_similarity(flat[1], flat[2], dim=0)
    assert stranse.compare(1, 1)[1, 2] == pytest.approx(float(wanted), abs=1e-5)
    diagonal = short(few, "lineare", "training.epochs=1").model
    changes: Any = diagonal.project_head.weight.detach() - 1  # type: ignore[union-attr]
    wanted = torch.nn.functional.cosine_similarity(changes[0], changes[3], dim=0)
    assert read_model(diagonal, few, "l").compare(0, 0)[0, 3] == pytest.approx(float(wanted), abs=1e-5)
    for reading in (itransf, stranse):
        np.testing.assert_allclose(np.diag(reading.compare(0, 1)), reading.compare_ends())
        np.testing.assert_allclose(np.diag(reading.compare(0, 0)), 1.0, rtol=1e-5)


def test_a_model_of_another_family_is_refused(few: Graph) -> None:
    with pytest.raises(ConfigError, match="concepts nor matrices"):
        read_model(Mock(spec=Model), few, "x")


def test_rows_of_zeros_stay() -> None:
    assert scale_rows(np.array([[[3.0, 4.0], [0.0, 0.0]]], dtype=np.float32)).tolist() == [
        [[np.float32(0.6), np.float32(0.8)], [0.0, 0.0]]
    ]


def test_random_weights_are_the_same_weights_elsewhere(few: Graph) -> None:
    weights = np.random.default_rng(0).random((2, 4, 9)).astype(np.float32)
    reading = make_reading(few, weights)
    moved = draw_random(reading)
    assert moved.weights is not None
    assert (moved.weights != weights).any()
    np.testing.assert_array_equal(np.sort(moved.weights, axis=2), np.sort(weights, axis=2))
    assert moved.name == "random"


def test_directions_are_grouped() -> None:
    rng = np.random.default_rng(0)
    centres = np.eye(3, 8)[[0, 0, 1, 1, 2, 2]] + 0.05 * rng.normal(size=(6, 8))
    rows = scale_rows(centres[None].astype(np.float32))[0]
    found = {tuple(group_directions(rows, 3, seed)) for seed in range(6)}
    assert any(len(set(groups[::2])) == 3 and groups[::2] == groups[1::2] for groups in found)
    assert set(group_directions(rows, 1, 0)) == {0}


def test_top_concepts(few: Graph, short: Callable[..., Run]) -> None:
    weights = np.zeros((2, 4, 3), dtype=np.float32)
    weights[0, :, 1], weights[1, :, 0] = -0.9, 0.5
    weights[:, :, 2] = 0.4
    assert find_top(make_reading(few, weights), 9).tolist() == [[1] * 4, [0] * 4]
    stranse = read_model(short(few, "stranse", "training.epochs=1").model, few, "s")
    assert find_top(stranse, 2).shape == (2, 4)


def test_runs_on_other_graphs_are_refused(few: Graph, random_graph: Callable[..., Graph]) -> None:
    readings = [make_reading(each, np.ones((2, 4, 2))) for each in (few, random_graph(entities=13, relations=4))]
    check_same_graph(readings[:1])
    with pytest.raises(ConfigError, match="same graph"):
        check_same_graph(readings)


def make_products(name: str, graph: Graph) -> Reading:
    """Return the reading of a model with three inverse pairs and two symmetric relations."""
    torch.manual_seed(0)
    sizes = {"concepts": 12, "support_size": 8} if name == "icomplex" else {}
    model: Any = MODELS[name](Sizes(15, COUNT), MODELS[name].Config(dim=9, **sizes))
    table = model.attention.scores if name == "icomplex" else model.relations
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_()
        middle = table.shape[1] // 2
        if name == "icomplex":
            model.attention.support.copy_(torch.arange(2, 10).expand(COUNT, -1))
        for left, right in ((0, 1), (2, 3), (4, 5)):
            table[right] = table[left]
            table[right, middle:] *= -1
        table[6:8, middle:] = 0
    return read_model(model, graph, name)


@pytest.mark.parametrize("name", ["icomplex", "complex"])
def test_inverse_and_symmetric_products_are_read(name: str, graph: Graph, gold: Gold) -> None:
    reading = make_products(name, graph)
    assert measure_inverses([reading], gold, DRAWS).value == pytest.approx(1.0)
    assert measure_symmetry([reading], gold, DRAWS).value == pytest.approx(1.0)
    np.testing.assert_allclose(reading.compare_ends()[[6, 7]], 1.0, atol=1e-6)
    random = draw_random(reading)
    assert sure(measure_inverses([random], gold, DRAWS).value) < 0.9
    assert random.sides.shape == reading.sides.shape
    purity, information = measure_domains([reading], gold, 4, DRAWS)
    assert purity.n == information.n == COUNT
    assert find_top(reading, 4).shape == (1, COUNT)
    assert (reading.weights is None) == (name == "complex")


def test_signed_weights_are_sparse_by_their_absolute_values(graph: Graph) -> None:
    reading = make_products("icomplex", graph)
    assert measure_sparsity([reading], 8, DRAWS).value == 1.0
    assert sure(measure_sparsity([reading], 7, DRAWS).value) < 1.0
    assert (sure_weights(reading) < 0).any()


def sure_weights(reading: Reading) -> Any:
    assert reading.weights is not None
    return reading.weights
