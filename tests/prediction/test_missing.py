from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from itransf.data import Graph
from itransf.errors import ConfigError, DataError
from itransf.prediction import Calibration, find_missing, missing
from itransf.prediction.inputs import resolve_triples
from prediction.conftest import RELATIONS, Case, make_products

Triple = tuple[int, int, int]
CALIBRATION = Calibration(
    temperature=0.8,
    slopes=tuple(np.linspace(0.5, 1.5, 2 * RELATIONS)),
    offsets=tuple(np.linspace(-1.0, 0.5, 2 * RELATIONS)),
    by_score=0.1,
    by_count=-0.2,
    by_excess=0.3,
    questions=99,
)


def list_open(graph: Graph, relation: int, side: str, known: set[Triple]) -> list[int]:
    """Return the entities that fit a side and may have one more answer."""
    fitting: list[int] = graph.typing.candidates(relation, side).tolist()
    statistics, place = graph.statistics, 0 if side == "head" else 2
    if not (statistics.one_tail if side == "head" else statistics.one_head)[relation]:
        return fitting
    return [each for each in fitting if not any(t[1] == relation and t[place] == each for t in known)]


def search_exhaustively(case: Case, calibration: Calibration | None) -> dict[Triple, float]:
    """Return the chance of every new triple, from the scores of all."""
    found, graph = {}, case.graph
    factor = calibration.temperature if calibration else 1.0
    for relation in range(RELATIONS):
        fitting = [graph.typing.candidates(relation, side).tolist() for side in ("head", "tail")]
        open_ends = [list_open(graph, relation, side, case.known) for side in ("head", "tail")]
        loops = graph.statistics.allows_loops[relation]
        for pair in itertools.product(*open_ends):
            if (pair[0], relation, pair[1]) in case.known or (pair[0] == pair[1] and not loops):
                continue
            chances, score = [], float(case.scores[pair[0], relation, pair[1]])
            for place in (0, 1):  # the question that is given this end
                rivals = []
                for other in fitting[1 - place]:
                    ends = (pair[0], other) if place == 0 else (other, pair[1])
                    is_known = case.split((ends[0], relation, ends[1])) in ("train", "valid")
                    if not is_known and (loops or ends[0] != ends[1]):
                        rivals.append(float(case.scores[ends[0], relation, ends[1]]))
                share = math.exp(factor * score) / sum(math.exp(factor * other) for other in rivals)
                if calibration is None:
                    chances.append(share)
                    continue
                share = min(share, 1 - 1e-12)
                logit = math.log(share) - math.log1p(-share)
                side = 2 * relation + 1 - place
                chances.append(calibration.apply([score], [logit], [len(rivals)], [side])[0])
            found[pair[0], relation, pair[1]] = math.sqrt(chances[0] * chances[1])
    return found


def list_found(case: Case, **options: Any) -> list[Triple]:
    found = resolve_triples(case.graph, find_missing(case.model, case.graph, **options))
    return [(h, r, t) for h, r, t in found.tolist()]


@pytest.mark.parametrize("calibration", [None, CALIBRATION])
@pytest.mark.parametrize("model", ["complex", "transe"])
def test_the_search_finds_what_exhaustive_search_finds(
    model: str, calibration: Calibration | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missing, "SHORTLIST", 2)  # so that lists are cut, and searched again
    case = make_products(model)
    expected = search_exhaustively(case, calibration)
    for top in (1, 7, 5000):
        with monkeypatch.context() as patch:
            patch.setattr("itransf.prediction.search.DEFAULT_MEMORY", 10_000)
            found = list_found(case, top=top, calibration=calibration)
        chances = [expected[triple] for triple in found]
        assert chances == pytest.approx(sorted(expected.values(), reverse=True)[:top])
        assert len(set(found)) == len(found)
        given = [each.probability for each in find_missing(case.model, case.graph, top=top, calibration=calibration)]
        assert given == (pytest.approx(chances) if calibration else [None] * len(found))


def test_an_entity_and_a_relation() -> None:
    case = make_products("complex")
    expected = search_exhaustively(case, None)
    found = list_found(case, entity="Entity One")
    assert set(found) == {triple for triple in expected if 1 in (triple[0], triple[2])}
    assert found == sorted(found, key=lambda triple: -expected[triple])
    found = list_found(case, entity="e1", relation="r2")
    assert set(found) == {triple for triple in expected if 1 in (triple[0], triple[2]) and triple[1] == 2}
    assert {triple[1] for triple in list_found(case, relation="Relation One")} == {1}


def test_an_interrupted_search_continues_to_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, state = make_products("complex"), tmp_path / "state"
    expected = find_missing(case.model, case.graph, top=20)
    asked, answer = list[int](), missing.Questions.answer

    def stop(questions: missing.Questions, *rest: Any) -> missing.Best:
        asked.append(questions.relation)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return answer(questions, *rest)

    monkeypatch.setattr(missing.Questions, "answer", stop)
    with pytest.raises(KeyboardInterrupt):
        find_missing(case.model, case.graph, top=20, state=state)
    assert state.is_file()
    assert find_missing(case.model, case.graph, top=20, state=state) == expected
    assert asked == [0, 1, 2, 2, 3]
    assert not state.exists()
    asked[:] = [9] * 3
    state.write_text('{"asked": "something else"}')
    assert find_missing(case.model, case.graph, top=20, state=state) == expected
    assert asked[3:] == [0, 1, 2, 3]


def test_an_interrupted_search_that_found_nothing_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, state = make_products("complex"), tmp_path / "state"
    answer, done = missing.Questions.answer, list[int]()

    def find_none(questions: missing.Questions, given: Any, best: missing.Best) -> missing.Best:
        done.append(questions.relation)
        if len(done) == 2:
            raise KeyboardInterrupt
        return best if len(done) == 1 else answer(questions, given, best)

    monkeypatch.setattr(missing.Questions, "answer", find_none)
    with pytest.raises(KeyboardInterrupt):
        find_missing(case.model, case.graph, top=20, state=state)
    found = find_missing(case.model, case.graph, top=20, state=str(state))
    assert done == [0, 1, 1, 2, 3]
    assert found
    assert 0 not in {case.graph.relations.index(triple.relation) for triple in found}


@pytest.mark.parametrize("content", ["", "head\trelation\ttail", "[]", "{}", '{"asked": %s, "done": 1}'])
def test_a_file_that_is_no_state_is_refused_and_kept(content: str, tmp_path: Path) -> None:
    case, state = make_products("complex"), tmp_path / "state"
    if "%s" in content:
        content %= json.dumps([missing.sum_parameters(case.model), None, None, 20, None])
    state.write_text(content)
    with pytest.raises(DataError, match="not the state of a search"):
        find_missing(case.model, case.graph, top=20, state=state)
    assert state.read_text() == content


def test_misuse_is_refused(table_case: Case) -> None:
    with pytest.raises(ConfigError, match="top"):
        find_missing(table_case.model, table_case.graph, top=0)
    with pytest.raises(DataError, match="unknown entity 'x'"):
        find_missing(table_case.model, table_case.graph, "x")
