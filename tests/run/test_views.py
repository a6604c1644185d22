from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import itransf
from cli.conftest import TEST, TRAIN, VALID
from itransf.errors import ConfigError, DataError
from itransf.evaluation import rank_both
from itransf.run import Run, compare_valid
from itransf.run.views import adopt_triples

SETTINGS = ("training.epochs=2", "model.dim=6", "regularizer.weight=0.01", "warm_start.epochs=0", "validation.every=0")


def train(graph: itransf.Graph, seed: int = 0) -> itransf.Run:
    return itransf.train(graph, settings=[*SETTINGS, "loss.candidates=0"], seed=seed, device="cpu", progress=False)


@pytest.fixture(scope="module")
def runs() -> tuple[itransf.Run, itransf.Run]:
    """Return two quick runs; the graph of the second lacks a relation."""
    graphs = []
    for left_out in ("", "city_in"):
        splits = [[triple for triple in split if triple[1] != left_out] for split in (TRAIN, VALID, TEST)]
        graphs.append(itransf.Graph.from_names("places", *splits))
    return train(graphs[0]), train(graphs[1], seed=1)


def test_an_entity(runs: tuple[itransf.Run, itransf.Run]) -> None:
    run = runs[0]
    graph, found = run.graph, run.show("France", top=3)
    number = graph.entities.index("France")
    triples = np.concatenate([graph.train, graph.valid, graph.test])
    assert sum(each["count"] for each in found["known"]) == (triples[:, [0, 2]] == number).sum()
    cities = {"relation": "city_in", "side": "tail", "count": 3, "examples": ["Paris", "Lyon", "Lille"]}
    assert found["known"][0] == cities
    assert {"relation": "P36", "side": "head", "count": 1, "examples": ["Paris"]} in found["known"]
    assert found["predicted"] == [each.to_dict() for each in run.missing("France", top=3)]
    vectors = run.model.embeddings()["entities"].detach().numpy().astype(float)
    cosines = vectors @ vectors[number] / np.linalg.norm(vectors, axis=1) / np.linalg.norm(vectors[number])
    cosines[number] = -math.inf
    order = np.argsort(-cosines)[:3]
    assert [each["label"] for each in found["near"]] == [graph.entities.label(place) for place in order]
    assert [each["likeness"] for each in found["near"]] == pytest.approx(cosines[order].tolist(), abs=1e-5)
    with pytest.raises(DataError, match="Did you mean 'France'"):
        run.show("Frnace")


def test_a_triple_of_two_splits_and_a_self_loop_are_listed_once(short: Any, number_graph: Any) -> None:
    graph = number_graph([(0, 0, 1), (0, 0, 2), (0, 1, 0)], valid=[(0, 0, 1)], test=[(0, 0, 2), (0, 0, 1)])
    known = short(graph, "distmult", "training.epochs=1").show("e0")["known"]
    assert [(each["relation"], each["side"], each["examples"]) for each in known] == [
        ("r0", "head", ["e1", "e2"]),
        ("r1", "head", ["e0"]),
    ]
    assert [each["count"] for each in known] == [2, 1]


def test_a_run_does_not_differ_from_itself(runs: tuple[itransf.Run, itransf.Run]) -> None:
    found = runs[0].diff(runs[0])
    assert (found["queries"], found["changed"], found["answers"]) == (6, 0, [])
    assert all(before == after for before, after in found["metrics"].values())
    assert all(each["similarity"] == pytest.approx(1.0) and each["found"] for each in found["concepts"])


@pytest.mark.parametrize("top", [-1, 1.5])
def test_a_number_of_answers_that_is_none_is_refused(runs: tuple[itransf.Run, itransf.Run], top: Any) -> None:
    for ask in (lambda: runs[0].diff(runs[1], top=top), lambda: runs[0].show("France", top=top)):
        with pytest.raises(ConfigError, match="top must be"):
            ask()


def test_common_validation_triples_are_ranked_with_all_others_filtered(short: Any, number_graph: Any) -> None:
    train = [(0, 1, tail) for tail in range(1, 10)]
    run = short(number_graph(train, valid=[(0, 0, tail) for tail in range(1, 9)]), "distmult", "training.epochs=1")
    for row in range(8):
        before = Run(replace(run.graph, valid=run.graph.valid[[row]]), run.config, run.model, [])
        found = compare_valid(before, run)
        assert found is not None
        assert found["before"]["mr"] <= 6.0  # one of 10 entities is no answer for the tail
        assert found["before"] == found["after"] == rank_both(run.model, run.graph.valid[[row]], run.graph.known)
    assert compare_valid(run, Run(replace(run.graph, valid=run.graph.valid[:0]), run.config, run.model, [])) is None


def test_new_triples_alone_change_no_rank(short: Any, number_graph: Any) -> None:
    after = short(number_graph([(0, 0, 1), (0, 0, 2), (0, 0, 3), (1, 0, 2), (2, 0, 3)], valid=[(0, 0, 4)]), "distmult")
    before = Run(replace(after.graph, train=after.graph.train[[0, 3, 4]]), after.config, after.model, [])
    found = before.diff(after)
    assert (found["changed"], found["answers"]) == (0, [])
    rows = before.score([("e0", "r0", "e4")]), after.score([("e0", "r0", "e4")])
    assert rows[0] != rows[1]  # they differ in what is known


def test_runs_are_compared_by_names(runs: tuple[itransf.Run, itransf.Run]) -> None:
    found = runs[0].diff(runs[1], top=4)
    held = [*VALID, *TEST]
    gone = sum(relation == "city_in" for _, relation, _ in [*TRAIN, *VALID, *TEST])
    fewer = len(runs[0].graph.entities) - len(runs[1].graph.entities)
    counts = {"triples": gone, "entities": fewer, "relations": 1}
    assert found["graph"] == {kind: {"added": 0, "removed": count} for kind, count in counts.items()}
    back = {kind: {"added": count, "removed": 0} for kind, count in counts.items()}
    assert runs[1].diff(runs[0], top=0)["graph"] == back
    assert found["queries"] == 2 * len(held)
    ranks: list[list[Any]] = []
    earlier = Run(adopt_triples(runs[0].graph, runs[1].graph), runs[0].config, runs[0].model, [])
    for run in (earlier, runs[1]):
        scored = run.score(sorted(held))
        ranks.append([rank for each in scored for rank in (each.head_rank, each.tail_rank)])
    assert found["metrics"]["mrr"] == pytest.approx([np.mean(1 / np.array(own)) for own in ranks])
    assert found["metrics"]["hits@3"] == pytest.approx([np.mean(np.array(own) <= 3) for own in ranks])
    changes = np.abs(1 / np.array(ranks[0]) - 1 / np.array(ranks[1]))
    assert found["changed"] == (changes > 0).sum()
    shown = [abs(1 / each["ranks"][0] - 1 / each["ranks"][1]) for each in found["answers"]]
    assert shown == pytest.approx(sorted(changes, reverse=True)[:4])
    first = found["answers"][0]
    asked = {part: first[part] for part in ("head", "relation", "tail") if part != first["asked"]}
    for run, best in zip((earlier, runs[1]), first["best"], strict=True):
        assert best == [getattr(each, f"{first['asked']}_label") for each in run.predict(**asked, top=1)]
    assert len(found["concepts"]) > 0


def test_runs_without_common_triples_are_refused(runs: tuple[itransf.Run, itransf.Run]) -> None:
    other = itransf.Graph.from_names("other", [("a", "r", "b"), ("b", "r", "c")], [], [("a", "r", "c")])
    with pytest.raises(DataError, match="no triples of valid or test in common"):
        runs[0].diff(train(other))
