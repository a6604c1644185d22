from __future__ import annotations

import numpy as np
import pytest
import torch

from itransf.data import Graph
from itransf.errors import ConfigError, DataError
from itransf.prediction import doubt_triples
from itransf.prediction.doubt import compare_within
from itransf.prediction.search import DEFAULT_MEMORY, score_given
from prediction.conftest import Case
from stubs import TableModel

COUNTRIES = 8


def make_graph() -> Graph:
    """Return cities and capitals with the inverse relation, and two false triples."""
    train = [(f"city{number}", "in", f"country{number % COUNTRIES}") for number in range(5 * COUNTRIES)]
    train += [(tail, "has", head) for head, _, tail in train]
    train += [(f"country{number}", "on", f"continent{number % 2}") for number in range(COUNTRIES)]
    return Graph.from_names("places", [*train, ("city3", "in", "country5"), ("continent1", "in", "country2")])


def test_false_triples_are_the_most_doubtful() -> None:
    graph = make_graph()
    model = TableModel(torch.zeros(len(graph.entities), len(graph.relations), len(graph.entities)))
    first, second, *others = doubt_triples(model, graph, top=100)
    assert (first.head, first.relation, first.tail) == ("continent1", "in", "country2")
    assert "continent1 is unlike other heads of in" in first.reason
    assert "no other triples connect the two" in first.reason
    assert (second.head, second.tail) == ("city3", "country5")
    assert "unlike" not in second.reason
    assert second.reason.startswith("train also has city3 – in – country3, where one answer is usual; ")
    assert "train also has" not in first.reason
    assert second.doubt == pytest.approx(second.type_misfit + second.lack_of_support + second.low_score)
    assert [each.doubt for each in others] == sorted((each.doubt for each in others), reverse=True)
    assert others[-1].reason == "no reason stands out"
    assert len(others) + 2 == len(graph.train)
    assert {each.relation for each in doubt_triples(model, graph, "on")} == {"on"}
    assert len(doubt_triples(model, graph, top=3)) == 3


def test_a_low_score_is_doubtful() -> None:
    graph = make_graph()
    table = torch.ones(len(graph.entities), len(graph.relations), len(graph.entities))
    head, relation, tail = graph.train[7].tolist()
    table[head, relation, tail] = -1.0
    found = next(each for each in doubt_triples(TableModel(table), graph) if each.low_score > 1.0)
    assert (found.head, found.tail) == (graph.entities.name(head), graph.entities.name(tail))
    assert found.reason.startswith("the model finds ")
    assert found.tail_rank > 1


def test_scores_are_those_of_the_model(case: Case) -> None:
    expected = case.scores[tuple(case.graph.train.T)]
    for memory in (1, DEFAULT_MEMORY):
        np.testing.assert_allclose(score_given(case.model, case.graph.train, memory), expected, rtol=1e-5, atol=1e-6)


def test_values_are_compared_within_their_relation() -> None:
    values, relations = np.array([1.0, 3.0, 10.0, 10.0, 7.0]), np.array([0, 0, 2, 2, 3])
    spread = 0.5 * values.std()
    assert compare_within(values, relations).tolist() == pytest.approx([-1 / (1 + spread), 1 / (1 + spread), 0, 0, 0])


def test_misuse_is_refused(table_case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="top"):
        doubt_triples(table_case.model, table_case.graph, top=0)
    monkeypatch.setattr("itransf.prediction.doubt.measure_doubts", None)  # the relation is looked up first
    with pytest.raises(DataError, match="unknown relation 'x'"):
        doubt_triples(table_case.model, table_case.graph, "x")
