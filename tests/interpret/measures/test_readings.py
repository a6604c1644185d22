from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from interpret.measures.making import make_reading
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.interpret.measures.readings import (
    check_same_graph,
    compose_model,
    draw_random,
    find_top,
    group_directions,
    read_model,
    remove_weights,
    scale_rows,
)
from itransf.models import SIDES
from itransf.models.base import Model
from itransf.run import Run


@pytest.fixture(scope="module")
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=12, relations=4)


def spread_scores(run: Run) -> None:
    """Give every concept another weight."""
    for side in SIDES:
        scores = getattr(run.model, f"project_{side}").scores
        with torch.no_grad():
            scores.copy_(torch.linspace(0.1, 1.0, scores.numel()).view_as(scores))


@pytest.mark.parametrize("kind", ["sparse", "dense", "l1"])
def test_a_composed_model_scores_as_its_source(kind: str, graph: Graph, short: Callable[..., Run]) -> None:
    run = short(graph, "itransf", f"model.attention={kind}", "training.epochs=1")
    spread_scores(run)
    reading = read_model(run.model, graph, "x")
    assert reading.weights is not None
    assert reading.free == (kind == "l1")
    triples = torch.as_tensor(graph.train).unbind(1)
    composed = compose_model(reading, reading.weights)
    torch.testing.assert_close(composed.score(*triples), run.model.score(*triples))
    composed = compose_model(reading, np.zeros_like(reading.weights))
    heads, relations, tails = triples
    moved = run.model.entities[heads] + run.model.relations[relations] - run.model.entities[tails]  # type: ignore[operator, index]
    torch.testing.assert_close(composed.score(*triples), -moved.abs().sum(1))  # unit vectors stay where they are


def test_sides_are_directions_of_weights_or_matrices(graph: Graph, short: Callable[..., Run]) -> None:
    itransf = read_model(short(graph, "itransf", "training.epochs=1").model, graph, "i")
    run = short(graph, "stranse", "training.epochs=1")
    stranse = read_model(run.model, graph, "s")
    assert itransf.sides.shape == (2, 4, 5)
    assert stranse.sides.shape == (2, 4, 16)
    assert stranse.weights is None
    flat: Any = run.model.project_tail.weight.detach() - torch.eye(4).flatten()  # type: ignore[union-attr]
    wanted = torch.nn.functional.cosine_similarity(flat[1], flat[2], dim=0)
    assert stranse.compare(1, 1)[1, 2] == pytest.approx(float(wanted), abs=1e-5)
    for reading in (itransf, stranse):
        np.testing.assert_allclose(np.diag(reading.compare(0, 1)), reading.compare_ends())
        np.testing.assert_allclose(np.diag(reading.compare(0, 0)), 1.0, rtol=1e-5)


def test_a_model_of_another_family_is_refused(graph: Graph) -> None:
    with pytest.raises(ConfigError, match="neither concepts nor matrices"):
        read_model(Mock(spec=Model), graph, "x")


def test_rows_of_zeros_stay() -> None:
    assert scale_rows(np.array([[[3.0, 4.0], [0.0, 0.0]]], dtype=np.float32)).tolist() == [
        [[np.float32(0.6), np.float32(0.8)], [0.0, 0.0]]
    ]


def test_random_weights_are_the_same_weights_elsewhere(graph: Graph) -> None:
    weights = np.random.default_rng(0).random((2, 4, 9)).astype(np.float32)
    reading = make_reading(graph, weights)
    moved = draw_random(reading)
    assert moved.weights is not None
    assert (moved.weights != weights).any()
    np.testing.assert_array_equal(np.sort(moved.weights, axis=2), np.sort(weights, axis=2))
    assert moved.name == "random"


def test_what_is_left_keeps_its_sum(graph: Graph) -> None:
    weights = np.array([[[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]]] * 2, dtype=np.float32)
    weights = np.concatenate([weights, weights], axis=1)
    reading = make_reading(graph, weights)
    gone = np.zeros(weights.shape, dtype=np.bool_)
    gone[0, :, 0] = True
    left = remove_weights(reading, gone)
    np.testing.assert_allclose(left[0], [[0.0, 0.6, 0.4], [0.0, 0.0, 0.0]] * 2, rtol=1e-6)
    np.testing.assert_array_equal(left[1], weights[1])


def test_directions_are_grouped() -> None:
    rng = np.random.default_rng(0)
    centres = np.eye(3, 8)[[0, 0, 1, 1, 2, 2]] + 0.05 * rng.normal(size=(6, 8))
    rows = scale_rows(centres[None].astype(np.float32))[0]
    found = {tuple(group_directions(rows, 3, seed)) for seed in range(6)}
    assert any(len(set(groups[::2])) == 3 and groups[::2] == groups[1::2] for groups in found)
    assert set(group_directions(rows, 1, 0)) == {0}


def test_top_concepts(graph: Graph, short: Callable[..., Run]) -> None:
    weights = np.zeros((2, 4, 3), dtype=np.float32)
    weights[0, :, 1], weights[1, :, 0] = -0.9, 0.5
    weights[:, :, 2] = 0.4
    assert find_top(make_reading(graph, weights), 9).tolist() == [[1] * 4, [0] * 4]
    stranse = read_model(short(graph, "stranse", "training.epochs=1").model, graph, "s")
    assert find_top(stranse, 2).shape == (2, 4)


def test_runs_on_other_graphs_are_refused(graph: Graph, random_graph: Callable[..., Graph]) -> None:
    readings = [make_reading(each, np.ones((2, 4, 2))) for each in (graph, random_graph(entities=13, relations=4))]
    check_same_graph(readings[:1])
    with pytest.raises(ConfigError, match="same graph"):
        check_same_graph(readings)
