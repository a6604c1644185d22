from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from itransf.interpret.rivals import hold_contest, replace_answer, split_triple
from itransf.interpret.spaces import open_space
from itransf.models import SIDES
from prediction.conftest import LOOPING, RELATIONS, make_case


def stand(case: Any, triple: tuple[int, int, int], side: str) -> tuple[float, int, int | None]:
    """Return rank, number of candidates and best rival by going through all entities."""
    head, relation, tail = triple
    scores = {}
    for entity in range(len(case.scores)):
        other = (head, relation, entity) if side == "tail" else (entity, relation, tail)
        looping = other[0] == other[2] and relation != LOOPING
        if other != triple and other not in case.known and not looping:
            scores[entity] = case.scores[other]
    own = case.scores[triple]
    rank = 1 + sum(score > own for score in scores.values()) + 0.5 * sum(score == own for score in scores.values())
    return rank, len(scores) + 1, max(scores, key=lambda entity: scores[entity]) if scores else None


@pytest.mark.parametrize("name", ["transe", "stranse", "itransf"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("memory", [1, 2**28])
def test_a_contest_equals_going_through_all(name: str, side: Any, memory: int) -> None:
    case = make_case(name, norm=2)
    triples = [*map(tuple, case.graph.train[:6].tolist()), *((h, r, 16 - h) for r in range(RELATIONS) for h in (0, 5))]
    for triple in triples:
        contest = hold_contest(open_space(case.model, triple[1]), case.graph, triple, side, memory)
        assert (contest.rank, contest.candidates, contest.rival) == stand(case, triple, side)
        assert contest.score == pytest.approx(float(case.scores[triple]), abs=1e-6)


def test_the_only_candidate_has_no_rival(number_graph: Any) -> None:
    case = make_case("transe")
    everyone = [(0, 0, tail) for tail in range(1, 17)]
    graph = number_graph(everyone, entities=17, relations=4)
    contest = hold_contest(open_space(case.model, 0), graph, (0, 0, 3), "tail")
    assert (contest.rank, contest.candidates, contest.rival) == (1.0, 1, None)


def test_ends_of_a_triple() -> None:
    assert split_triple((1, 2, 3), "tail") == (1, 3)
    assert split_triple((1, 2, 3), "head") == (3, 1)
    assert replace_answer((1, 2, 3), "tail", 9) == (1, 2, 9)
    assert replace_answer((1, 2, 3), "head", 9) == (9, 2, 3)


def test_a_tie_counts_half() -> None:
    case = make_case("transe")
    case.model.entities.data[5] = case.model.entities.data[6]  # type: ignore[union-attr,index]
    triple = next(
        (h, 0, 5) for h in range(17) if h not in (5, 6) and not case.graph.known.contains(np.array([[h, 0, 6]]))[0]
    )
    contest = hold_contest(open_space(case.model, 0), case.graph, triple, "tail")
    assert contest.rank % 1 == 0.5
