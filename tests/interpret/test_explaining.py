from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch

from itransf.errors import ConfigError, DataError
from itransf.interpret import explain
from itransf.models import MODELS
from prediction.conftest import Case, make_case


def rival_score(case: Case, triple: tuple[int, int, int], side: str) -> float:
    """Return the best score of another candidate whose triple is not known."""
    head, relation, tail = triple
    others = [(head, relation, e) if side == "tail" else (e, relation, tail) for e in range(len(case.scores))]
    allowed = [other for other in others if other != triple and other not in case.known and other[0] != other[2]]
    return max(float(case.scores[other]) for other in allowed)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("side", ["head", "tail"])
def test_values_and_favours_sum_to_what_they_split(name: str, norm: int, side: str) -> None:
    case = make_case(name, norm)
    triple = (3, 1, 8)
    found = explain(case.model, case.graph, "e3", "Relation One", "e8", side=side)
    values = sum(part.value for part in found.contributions)
    assert values == pytest.approx(found.distance, abs=1e-9)
    assert found.score == pytest.approx(float(case.scores[triple]), abs=1e-9)
    assert found.runner_up is not None
    assert found.runner_up.distance == pytest.approx(-rival_score(case, triple, side), abs=1e-9)
    assert sum(part.favour or 0.0 for part in found.contributions) == pytest.approx(found.lead, abs=1e-9)
    assert (found.head_label, found.relation_label) == ("e3", "Relation One")
    assert (found.rank == 1) == ((found.lead or 0.0) > 0)
    assert json.loads(json.dumps(found.to_dict()))["sentence"] == found.sentence == str(found)
    assert (found.sharing is None) == (name != "itransf")
    assert bool(found.removals) == (name == "itransf")


def test_known_triples_are_said_to_be_known() -> None:
    case = make_case("itransf")
    for split in ("train", "valid", "test"):
        head, relation, tail = case.graph.split(split)[3].tolist()
        found = explain(case.model, case.graph, f"e{head}", f"r{relation}", f"e{tail}", removals=False, evidence=1)
        assert found.known == split
        assert len(found.nearest) <= 1
        assert found.removals == ()
    free = next(t for t in range(17) if (2, 1, t) not in case.known)
    assert explain(case.model, case.graph, "e2", "r1", f"e{free}").known is None


def test_what_does_not_fit_in_memory_is_done_in_chunks() -> None:
    case = make_case("itransf", norm=2)
    asked = ("e3", "r1", "e8")
    assert explain(case.model, case.graph, *asked) == explain(case.model, case.graph, *asked, memory=1)


def test_an_answer_without_rivals(number_graph: Any) -> None:
    case = make_case("stranse")
    graph = number_graph([(0, 0, tail) for tail in range(1, 17)], entities=17, relations=4)
    found = explain(case.model, graph, "e0", "r0", "e3")
    assert found.runner_up is None
    assert all(part.favour is None and part.rival is None for part in found.contributions)
    assert "only candidate" in found.sentence


def test_single_precision_and_names_of_concepts() -> None:
    case = make_case("itransf", norm=2)
    model = case.model.float()
    with torch.no_grad():
        score = float(model.score(*torch.tensor([[3], [1], [8]])))
    found = explain(model, case.graph, "e3", "r1", "e8", names={0: "zero"})
    assert sum(part.value for part in found.contributions) == pytest.approx(-score, abs=1e-5)
    assert found.concept_names == {0: "zero"}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_evidence_is_found_where_gradients_are_off(mode: Callable[[], Any]) -> None:
    case = make_case("itransf")
    wanted = explain(case.model, case.graph, "e1", "r1", "e8")
    with mode():
        assert explain(case.model, case.graph, "e1", "r1", "e8") == wanted


def test_mistakes_are_told() -> None:
    case = make_case("itransf")
    with pytest.raises(DataError, match=r"unknown entity 'Entity Onee'\. Did you mean 'Entity One'"):
        explain(case.model, case.graph, "Entity Onee", "r1", "e8")
    with pytest.raises(DataError, match="unknown relation"):
        explain(case.model, case.graph, "e1", "r9", "e8")
    with pytest.raises(ConfigError, match=r"there is no side 'tial'.*Did you mean 'tail'"):
        explain(case.model, case.graph, "e1", "r1", "e8", side="tial")
    with pytest.raises(ConfigError, match="evidence must be a whole number of at least 0, not -1"):
        explain(case.model, case.graph, "e1", "r1", "e8", evidence=-1)
    with pytest.raises(ConfigError, match="memory must be a whole number of at least 1, not 0"):
        explain(case.model, case.graph, "e1", "r1", "e8", memory=0)
    with pytest.raises(ConfigError, match="cannot be split"):
        explain(make_case("table").model, case.graph, "e1", "r1", "e8")
