from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from itransf.interpret.evidence import find_nearest, find_supporting
from prediction.conftest import RELATIONS, Case, make_case, make_products, name_triple


def names(found: Any) -> list[tuple[str, str, str]]:
    return [(line.head, line.relation, line.tail) for line in found]


def place(model: Any, entity: int, relation: int, side: Any) -> torch.Tensor:
    with torch.no_grad():
        return model.project(torch.tensor([entity]), torch.tensor([relation]), side)[0]


@pytest.mark.parametrize("name", ["transe", "stranse", "itransf"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("memory", [1, 2**28])
def test_the_nearest_triples_equal_measuring_each(name: str, norm: int, memory: int) -> None:
    case = make_case(name, norm)
    model: Any = case.model
    for relation in range(RELATIONS):
        triple = (3, relation, 8)
        distances = {}
        for other in case.graph.train[case.graph.train[:, 1] == relation].tolist():
            apart = [
                torch.linalg.vector_norm(
                    place(case.model, mine, relation, side) - place(case.model, theirs, relation, side), ord=norm
                )
                for mine, theirs, side in ((triple[0], other[0], "head"), (triple[2], other[2], "tail"))
            ]
            distances[name_triple(other)] = float(sum(apart))
        found = find_nearest(model, case.graph, triple, 4, memory)
        expected = sorted(distances, key=lambda key: distances[key])[:4]
        assert names(found) == expected
        assert [line.value for line in found] == pytest.approx([distances[key] for key in expected])


def test_a_triple_is_no_evidence_for_itself() -> None:
    case = make_case("itransf")
    triple = tuple(case.graph.train[0].tolist())
    model: Any = case.model
    assert name_triple(triple) not in names(find_nearest(model, case.graph, triple, 100))
    assert name_triple(triple) not in names(find_supporting(model, case.graph, triple, 1000))


def step(case: Case, triple: Any, other: Any, size: float) -> float:
    """Return how much a step on another triple, of the ends both have, lessens a triple's distance, per size."""
    model: Any = case.model
    before = float(model.score(*torch.tensor([triple]).T).detach())
    model.zero_grad()
    (-model.score(*torch.tensor([other]).T)).sum().backward()
    gradient = model.entities.grad.to_dense()
    kept = model.entities.detach().clone()
    with torch.no_grad():
        for entity in {triple[0], triple[2]} & {other[0], other[2]}:
            model.entities[entity] -= size * gradient[entity]
        after = float(model.score(*torch.tensor([triple]).T))
        model.entities.copy_(kept)
    model.zero_grad()
    return (after - before) / size


@pytest.mark.parametrize("name", ["transe", "transr", "stranse", "itransf"])
def test_a_pull_is_what_a_small_step_does(name: str) -> None:
    case = make_case(name, norm=2)
    triple = (3, 1, 8)
    pulls = {
        name_triple(other): step(case, triple, other, 1e-6)
        for other in case.graph.train.tolist()
        if {other[0], other[2]} & {3, 8} and tuple(other) != triple
    }
    model: Any = case.model
    found = find_supporting(model, case.graph, triple, 1000, memory=1)
    assert {name: line.value for name, line in zip(names(found), found, strict=True)} == pytest.approx(
        {name: pull for name, pull in pulls.items() if pull > 0}, abs=1e-4
    )
    values = [line.value for line in found]
    assert values == sorted(values, reverse=True)
    assert find_supporting(model, case.graph, triple, 2) == found[:2]
    assert np.isfinite(values).all()
    assert found[0].to_dict()["value"] == values[0]


PRODUCTS = ["distmult", "complex", "icomplex"]


def as_numbers(case: Case, row: torch.Tensor) -> Any:
    """Return an embedding as real or complex numbers."""
    numbers = row.detach().numpy()
    return numbers if case.model.numbers == 1 else numbers[:8] + 1j * numbers[8:]  # type: ignore[union-attr]


def summands(case: Case, triple: Any) -> Any:
    """Return what each dimension adds to the score of a triple."""
    model: Any = case.model
    h, r, t = triple
    entities, relations = model.entities, model.relation_table()
    product = as_numbers(case, entities[h]) * as_numbers(case, relations[r]) * np.conj(as_numbers(case, entities[t]))
    return product.real


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("memory", [1, 2**28])
def test_the_nearest_triples_of_products_equal_comparing_each(name: str, memory: int) -> None:
    case, triple = make_products(name), (3, 1, 8)
    own, cosines = summands(case, triple), {}
    assert own.sum() == pytest.approx(case.scores[triple])
    for other in case.graph.train[case.graph.train[:, 1] == 1].tolist():
        theirs = summands(case, other)
        cosines[name_triple(other)] = float(own @ theirs / np.linalg.norm(own) / np.linalg.norm(theirs))
    found = find_nearest(case.model, case.graph, triple, 4, memory)
    expected = sorted(cosines, key=lambda key: -cosines[key])[:4]
    assert names(found) == expected
    assert [line.value for line in found] == pytest.approx([cosines[key] for key in expected])


def gradient_of(case: Case, triple: Any, entity: int, column: int) -> Any:
    """Return the gradient of a score by one end of the triple alone."""
    model: Any = case.model
    ends = [model.entities[triple[place]].detach().clone().requires_grad_() for place in (0, 2)]
    pairs = model.pair(ends[0][None], ends[1][None])
    (pairs @ model.relation_table()[triple[1]].detach()).sum().backward()
    assert triple[column] == entity
    return ends[column // 2].grad.numpy()


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("memory", [1, 2**28])
@pytest.mark.parametrize("triple", [(3, 1, 8), (5, 2, 5)])
def test_pulls_of_products_equal_going_through_all(name: str, memory: int, triple: tuple[int, int, int]) -> None:
    case = make_products(name)
    pulls = {}
    for other in case.graph.train.tolist():
        pull, (h, r, t) = 0.0, other
        for mine in (0, 2):
            own = gradient_of(case, triple, triple[mine], mine)
            for theirs in (0, 2):
                if other[theirs] == triple[mine]:
                    scores = case.scores[h, r] if theirs == 0 else case.scores[:, r, t]
                    p = np.exp(scores[other[2 - theirs]]) / np.exp(scores).sum()
                    pull += (1 - p) * float(own @ gradient_of(case, other, triple[mine], theirs))
        if pull > 0 and tuple(other) != triple:
            pulls[name_triple(other)] = pull
    found = find_supporting(case.model, case.graph, triple, 1000, memory)
    assert {name: line.value for name, line in zip(names(found), found, strict=True)} == pytest.approx(pulls)
    assert names(found) == sorted(pulls, key=lambda key: -pulls[key])


def test_a_model_of_no_known_kind_has_no_evidence() -> None:
    case = make_case("table")
    assert find_nearest(case.model, case.graph, (3, 1, 8)) == find_supporting(case.model, case.graph, (3, 1, 8)) == []


def test_without_triples_there_is_no_evidence(number_graph: Any) -> None:
    case = make_case("itransf")
    graph = number_graph([(0, 1, 2)], entities=17, relations=4)
    model: Any = case.model
    assert find_nearest(model, graph, (4, 0, 5)) == []
    assert find_supporting(model, graph, (4, 0, 5)) == []
