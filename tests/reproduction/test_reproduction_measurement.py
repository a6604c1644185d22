from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from reproduction.measurement import (
    count_matrices,
    describe_run,
    measure_buckets,
    measure_ranks,
    pack_attention,
    round_off,
    unpack_attention,
)

from itransf.data.graph import Graph
from itransf.evaluation import rank_triples
from itransf.models import SIDES
from itransf.run import Run

Short = Callable[..., Run]


@pytest.fixture(scope="module")
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(relations=5, train=60, test=20)


@pytest.fixture(scope="module")
def run(graph: Graph, short: Short) -> Run:
    return short(graph)


@pytest.fixture(scope="module")
def measured(graph: Graph, run: Run) -> dict[str, Any]:
    return measure_ranks(graph, rank_triples(run.model, graph.test, graph.known))


def test_figures_are_those_of_an_evaluation(run: Run, measured: dict[str, Any]) -> None:
    evaluation = run.evaluate()
    for metric, value in measured["metrics"].items():
        assert value == pytest.approx(evaluation[metric], rel=1e-5)
    assert measured["queries"] == evaluation["queries"]
    assert 0.01 < measured["heaviest"] < 1
    assert json.loads(json.dumps(measured)) == measured


def test_buckets_average_their_relations(run: Run, graph: Graph, measured: dict[str, Any]) -> None:
    found = measure_buckets(graph, rank_triples(run.model, graph.test, graph.known))
    for bucket, value in enumerate(found):
        own = [each["hits@10"] for each in measured["relations"] if each["bucket"] == bucket]
        assert value == (pytest.approx(np.mean(own), rel=1e-5) if own else None)
    assert any(value is not None for value in found)


def test_relations_are_those_of_an_evaluation(run: Run, graph: Graph, measured: dict[str, Any]) -> None:
    expected = {found["relation"]: found for found in run.evaluate().relations}
    assert [found["relation"] for found in measured["relations"]] == list(expected)
    buckets = graph.statistics.frequency_buckets(3)
    for found in measured["relations"]:
        other = expected[found["relation"]]
        assert found["train_triples"] == other["train_triples"]
        assert 2 * found["test_triples"] == other["both"]["queries"]
        assert found["bucket"] == buckets[graph.relations.index(found["relation"])]
        for metric in ("mr", "mrr", "hits@10"):
            assert found[metric] == pytest.approx(other["both"][metric], rel=1e-5)


def test_hits_are_kept_triple_by_triple(run: Run, graph: Graph, measured: dict[str, Any]) -> None:
    ranks = rank_triples(run.model, graph.test, graph.known)
    slow: dict[str, str] = {}
    for place, (_, relation, _) in enumerate(graph.test.tolist()):
        hits = sum(int(ranks.ranks(side)[place] <= 10) for side in SIDES)
        name = graph.relations.name(relation)
        slow[name] = slow.get(name, "") + str(hits)
    assert {found["relation"]: found["hits"] for found in measured["relations"]} == slow


def test_a_run_is_described(graph: Graph, run: Run) -> None:
    found = describe_run(run)
    assert found["config"] == run.config.to_dict()
    assert found["training"]["epochs"] == 3
    assert found["training"]["best"]["epoch"] in (1, 2, 3)
    assert found["training"]["seconds_per_epoch"] > 0
    assert json.loads(json.dumps(found)) == found


COUNTS = [("transe", 0), ("transr", 5), ("stranse", 10), ("itransf", 5), ("nodelink", 0)]


@pytest.mark.parametrize(("model", "count"), COUNTS)
def test_matrices_are_counted(model: str, count: int, graph: Graph, short: Short) -> None:
    found = short(graph, model, "training.epochs=1")
    assert count_matrices(found.model) == count


@pytest.mark.parametrize("kind", ["sparse", "dense", "l1"])
def test_attention_survives_storage(kind: str, graph: Graph, short: Short) -> None:
    attention = short(graph, "itransf", f"model.attention={kind}").concepts()
    again = unpack_attention(json.loads(json.dumps(pack_attention(attention))))
    np.testing.assert_allclose(again.weights, attention.weights, atol=5e-5)
    assert (again.kind, again.relations.names) == (kind, attention.relations.names)
    assert again.counts.tolist() == attention.counts.tolist()
    if kind == "sparse":
        assert again.supports.tolist() == attention.supports.tolist()


def test_numbers_are_rounded_to_significant_digits() -> None:
    assert [round_off(1234.5678), round_off(0.00123456789), round_off(98765.4, 3)] == [1234.57, 0.00123457, 98800.0]
