from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from itransf.interpret.evidence import RIDGE, differentiate, differentiate_lead, find_nearest, find_supporting
from prediction.conftest import ENTITIES, RELATIONS, Case, make_case, make_products, name_triple


def names(found: Any) -> list[tuple[str, str, str]]:
    return [(line.head, line.relation, line.tail) for line in found]


def place(model: Any, entity: int, relation: int, side: Any) -> torch.Tensor:
    with torch.no_grad():
        return model.project(torch.tensor([entity]), torch.tensor([relation]), side)[0]


@pytest.mark.parametrize("name", ["transe", "stranse", "itransf"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("memory", [1, 2**28])
def test_the_nearest_triples_equal_measuring_each(
    name: str, norm: int, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("itransf.interpret.evidence.DEFAULT_MEMORY", memory)
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
        found = find_nearest(model, case.graph, triple, 4)
        expected = sorted(distances, key=lambda key: distances[key])[:4]
        assert names(found) == expected
        assert [line.value for line in found] == pytest.approx([distances[key] for key in expected])


def test_a_triple_is_no_evidence_for_itself() -> None:
    case = make_case("itransf")
    triple = tuple(case.graph.train[0].tolist())
    model: Any = case.model
    assert name_triple(triple) not in names(find_nearest(model, case.graph, triple, 100))
    assert name_triple(triple) not in names(find_supporting(model, case.graph, triple, 1000))


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
def test_the_nearest_triples_of_products_equal_comparing_each(
    name: str, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("itransf.interpret.evidence.DEFAULT_MEMORY", memory)
    case, triple = make_products(name), (3, 1, 8)
    own, cosines = summands(case, triple), {}
    assert own.sum() == pytest.approx(case.scores[triple])
    for other in case.graph.train[case.graph.train[:, 1] == 1].tolist():
        theirs = summands(case, other)
        cosines[name_triple(other)] = float(own @ theirs / np.linalg.norm(own) / np.linalg.norm(theirs))
    found = find_nearest(case.model, case.graph, triple, 4)
    expected = sorted(cosines, key=lambda key: -cosines[key])[:4]
    assert names(found) == expected
    assert [line.value for line in found] == pytest.approx([cosines[key] for key in expected])


MODELS = ["transe", "transr", "stranse", "itransf", "distmult", "complex", "icomplex"]


def make_any(name: str) -> Case:
    return make_products(name) if name in PRODUCTS else make_case(name, norm=2)


def find_lead(case: Case, triple: Any, side: str, most: int) -> float:
    """Return a triple's score minus the logsumexp of the best others on a side that are not known."""
    scores = {}
    for entity in range(ENTITIES):
        other = (*triple[:2], entity) if side == "tail" else (entity, *triple[1:])
        with torch.no_grad():
            scores[other] = float(case.model.score(*torch.tensor([other]).T))
    own = scores.pop(triple)
    rivals = sorted(score for other, score in scores.items() if other not in case.known)[-most:]
    return own - float(np.log(np.exp(rivals).sum()))


def find_gradient(function: Any, model: Any, entity: int, size: float = 1e-5) -> Any:
    """Return the gradient of a function of the model by an entity's embedding, by finite differences."""
    gradient, row = [], model.entities.detach()[entity]
    for place in range(len(row)):
        values = []
        for move in (size, -2 * size, size):
            row[place] += move
            values.append(function())
        gradient.append((values[0] - values[1]) / (2 * size))
    return np.array(gradient)


def solve(gradients: Any, weight: float) -> Any:
    """Return the vector whose products with the gradients are nearest one, with a ridge penalty."""
    table = np.array(list(gradients.values()))
    return np.linalg.solve(table.T @ table + weight * np.eye(table.shape[1]), table.sum(axis=0))


def find_naively(case: Case, triple: Any, side: str, most: int) -> list[tuple[tuple[str, str, str], float]]:
    """Remove the triple without which the lead falls most, one after the other, solving every regression again."""
    model: Any = case.model
    ends: dict[int, Any] = {}
    for entity in {triple[0], triple[2]}:
        lead = find_gradient(lambda: find_lead(case, triple, side, most), model, entity)
        gradients = {}
        for other in map(tuple, case.graph.train.tolist()):
            if entity in (other[0], other[2]) and other != triple:
                score = partial(lambda one: float(model.score(*torch.tensor([one]).T).detach()), other)
                gradients[other] = find_gradient(score, model, entity)
        strongest = sorted(gradients, key=lambda one: -float(gradients[one] @ lead))[:most]
        kept = {one: gradients[one] for one in strongest}
        ends[entity] = lead, kept, RIDGE * float(np.mean([vector @ vector for vector in kept.values()]))
    found = []
    while True:
        falls: dict[Any, float] = {}
        for lead, kept, weight in ends.values():
            whole = lead @ solve(kept, weight) if kept else 0.0
            for one in kept:
                rest = {other: vector for other, vector in kept.items() if other != one}
                falls[one] = falls.get(one, 0.0) + whole - (lead @ solve(rest, weight) if rest else 0.0)
        best = max(falls, key=lambda one: falls[one], default=None)
        if best is None or falls[best] <= 0:
            return found
        found.append((name_triple(best), float(falls[best])))
        for _, kept, _ in ends.values():
            kept.pop(best, None)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("triple", "side"), [((3, 1, 8), "tail"), ((3, 1, 8), "head"), ((5, 2, 5), "tail")])
@pytest.mark.parametrize("most", [4, 256])
def test_support_equals_solving_every_regression_again(
    name: str, triple: tuple[int, int, int], side: Any, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("MOST_FITTED", "RIVALS"):
        monkeypatch.setattr(f"itransf.interpret.evidence.{limit}", most)
    case = make_any(name)
    expected = find_naively(case, triple, side, most)
    monkeypatch.setattr("itransf.interpret.evidence.DEFAULT_MEMORY", 1)
    found = find_supporting(case.model, case.graph, triple, 1000, side=side)
    assert names(found) == [name for name, _ in expected]
    assert [line.value for line in found] == pytest.approx([fall for _, fall in expected], rel=1e-3, abs=1e-6)
    assert find_supporting(case.model, case.graph, triple, 2, side=side) == pytest.approx(found[:2])
    assert [line.to_dict()["value"] for line in found] == [line.value for line in found]


def test_triples_that_replace_each_other_are_found_together(number_graph: Any) -> None:
    model: Any = make_case("distmult").model
    with torch.no_grad():
        model.entities.zero_()
        model.relations.fill_(1.0)
        model.entities[[2, 3, 4], [0, 1, 0]] = 1.0
        model.entities[:2, :2] = 1.0
    # The tail 1 needs both directions: two triples give the first, one gives the second.
    graph = number_graph([(0, 0, 2), (0, 0, 4), (0, 0, 3)], entities=ENTITIES, relations=RELATIONS)
    found = find_supporting(model, graph, (0, 1, 1), 3)
    assert names(found)[0] == ("e0", "r0", "e3"), "nothing replaces it"
    assert [line.value for line in found[1:]] == sorted(line.value for line in found[1:])


def test_support_can_be_restricted_to_one_end() -> None:
    case, triple = make_products("icomplex"), (3, 1, 8)
    found = find_supporting(case.model, case.graph, triple, 3)
    assert any("e3" not in (line.head, line.tail) for line in found)
    about = find_supporting(case.model, case.graph, triple, 1000, about=["head"])
    assert about
    assert all("e3" in (line.head, line.tail) for line in about)


@pytest.mark.parametrize("name", ["transe", "icomplex"])
def test_without_rivals_the_lead_is_the_score(number_graph: Any, name: str) -> None:
    model: Any = make_any(name).model
    every = [(0, 1, tail) for tail in range(ENTITIES)]
    graph = number_graph(every, entities=ENTITIES, relations=RELATIONS)
    for entity, lead in differentiate_lead(model, graph, (0, 1, 5), "tail").items():
        assert torch.equal(lead, differentiate(model, np.array([[0, 1, 5]]), entity)[0])


def test_a_model_of_no_known_kind_has_no_evidence() -> None:
    case = make_case("table")
    assert find_nearest(case.model, case.graph, (3, 1, 8)) == find_supporting(case.model, case.graph, (3, 1, 8)) == []


def test_without_triples_there_is_no_evidence(number_graph: Any) -> None:
    case = make_case("itransf")
    graph = number_graph([(0, 1, 2)], entities=17, relations=4)
    model: Any = case.model
    assert find_nearest(model, graph, (4, 0, 5)) == []
    assert find_supporting(model, graph, (4, 0, 5)) == []
