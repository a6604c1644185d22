from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import itransf
from itransf.errors import ConfigError, DataError, ITransFError
from itransf.models import Model, Sizes, TransE
from itransf.prediction import Prediction, complete, find_only_answers
from itransf.prediction.search import BYTES_PER_SCORE, select_best

OPTIONS: list[dict[str, Any]] = [
    {},
    {"include_known": True},
    {"typed": False},
    {"candidates": ["e9", "e3", "Entity One", "e12", "e3", "e0"]},
    {"candidates": [f"e{number}" for number in range(0, 17, 2)], "typed": False, "include_known": True},
]
LEVELS = st.sampled_from([-torch.inf, -2.0, -1.0, 0.0, 1.0, torch.inf])
ROWS = st.integers(1, 8).flatmap(
    lambda width: st.lists(st.lists(LEVELS, min_size=width, max_size=width), min_size=1, max_size=5)
)
MEMORY = [1, 24 * 17 * 5, 2**20]  # one row at a time, five, all


def brute_force(case: Any, triples: list[tuple[int, int, int]], top: int, **options: Any) -> list[dict[str, Any]]:
    """Sort all triples that the options allow; `triples` come in the order that decides ties."""
    names = options.get("candidates")
    allowed = None if names is None else {case.graph.entities.index(name) for name in names}
    asked = options["asked"]
    kept = []
    for head, relation, tail in triples:
        ends = {"head": head, "tail": tail}
        if not options.get("include_known") and case.split((head, relation, tail)) == "train":
            continue
        if allowed is not None:
            fits = all(ends[side] in allowed for side in asked)
        else:
            fits = all(case.graph.typing.fits(ends[side], relation, side) for side in asked)
        if not fits and (allowed is not None or options.get("typed", True)):
            continue
        kept.append((head, relation, tail))
    kept.sort(key=lambda triple: -case.scores[triple])  # a stable sort
    return [
        {
            "head": f"e{head}",
            "relation": f"r{relation}",
            "tail": f"e{tail}",
            "score": pytest.approx(case.scores[head, relation, tail], abs=1e-9),
            "rank": rank,
            "known": case.split((head, relation, tail)),
        }
        for rank, (head, relation, tail) in enumerate(kept[:top], start=1)
    ]


def plain(predictions: list[Prediction]) -> list[dict[str, Any]]:
    keys = ("head", "relation", "tail", "score", "rank", "known")
    return [{key: prediction.to_dict()[key] for key in keys} for prediction in predictions]


@pytest.mark.parametrize("options", OPTIONS)
def test_tails_equal_brute_force(case: Any, options: dict[str, Any], looping: int) -> None:
    for head, relation in [(0, 0), (5, 1), (16, 2), (3, 3)]:
        triples = [(head, relation, tail) for tail in range(17) if head != tail or relation == looping]
        expected = brute_force(case, triples, 6, asked=["tail"], **options)
        found = complete(case.model, case.graph, head=f"e{head}", relation=f"r{relation}", top=6, **options)
        assert plain(found) == expected


@pytest.mark.parametrize("options", OPTIONS)
def test_heads_equal_brute_force(case: Any, options: dict[str, Any], looping: int) -> None:
    for relation, tail in [(0, 0), (1, 5), (2, 16), (3, 13)]:
        triples = [(head, relation, tail) for head in range(17) if head != tail or relation == looping]
        expected = brute_force(case, triples, 6, asked=["head"], **options)
        found = complete(case.model, case.graph, relation=f"r{relation}", tail=f"e{tail}", top=6, **options)
        assert plain(found) == expected


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("options", OPTIONS)
def test_triples_of_a_relation_equal_brute_force(
    case: Any, options: dict[str, Any], memory: int, looping: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("itransf.prediction.search.DEFAULT_MEMORY", memory)
    for relation in (0, looping, 3):
        triples = [(h, relation, t) for h in range(17) for t in range(17) if h != t or relation == looping]
        expected = brute_force(case, triples, 12, asked=["head", "tail"], **options)
        found = complete(case.model, case.graph, relation=f"r{relation}", top=12, **options)
        assert plain(found) == expected


@pytest.mark.parametrize(
    "question", [{"relation": "r3"}, {"head": "e0", "relation": "r3"}, {"head": "e8", "tail": "e9"}]
)
def test_answers_that_do_not_fit_come_only_when_all_are_searched(table_case: Any, question: dict[str, str]) -> None:
    asked = {"top": 300, **question}
    fitting = complete(table_case.model, table_case.graph, **asked)
    assert 0 < len(fitting) < len(complete(table_case.model, table_case.graph, typed=False, **asked))


@pytest.mark.parametrize("memory", [1, 2**20])
@pytest.mark.parametrize("include_known", [False, True])
def test_relations_equal_brute_force(
    case: Any, include_known: bool, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("itransf.prediction.search.DEFAULT_MEMORY", memory)
    for head, tail in [(0, 12), (1, 5), tuple(case.graph.train[3, [0, 2]])]:
        triples = [(int(head), relation, int(tail)) for relation in range(4)]
        expected = brute_force(case, triples, 3, asked=["head", "tail"], include_known=include_known)
        options = {"include_known": include_known, "top": 3}
        assert plain(complete(case.model, case.graph, head=f"e{head}", tail=f"e{tail}", **options)) == expected


def test_countries_are_no_capitals() -> None:
    graph = itransf.load("world")
    model = TransE(Sizes(len(graph.entities), len(graph.relations)), TransE.Config(dim=4))
    asked = {"head": "France", "tail": "Germany", "top": 100}
    found = {prediction.relation for prediction in complete(model, graph, **asked)}
    assert "capital_of" not in found
    assert "capital_of" in {prediction.relation for prediction in complete(model, graph, typed=False, **asked)}
    assert {prediction.relation for prediction in complete(model, graph, include_known=True, **asked)} > {"borders"}


def test_the_only_answer_is_found_where_a_relation_allows_one() -> None:
    cities = [*((f"c{n}", "in", f"k{n % 4}") for n in range(30)), ("c0", "in", "k1")]  # one city is in two countries
    graph = itransf.Graph.from_names("cities", [*cities, *((f"k{n}", "capital", f"c{n}") for n in range(4))])
    assert [triple.tail for triple in find_only_answers(graph, head="c7", relation="in")] == ["k3"]
    assert {triple.tail for triple in find_only_answers(graph, head="c0", relation="in")} == {"k0", "k1"}
    for question in ({"relation": "in", "tail": "k3"}, {"relation": "in"}, {"head": "c1", "tail": "k1"}):
        assert find_only_answers(graph, **question) == []
    assert find_only_answers(graph, head="k1", relation="capital") == []  # too few countries to tell


def test_other_answers_are_left_out_when_not_wanted() -> None:
    cities = [(f"c{n}", "in", f"k{n % 4}") for n in range(3, 30)]
    graph = itransf.Graph.from_names("cities", [*cities, *((f"c{n}", "near", "c9") for n in range(3))])
    model = TransE(Sizes(34, 2), TransE.Config(dim=4))
    options: dict[str, Any] = {"relation": "in", "typed": False, "top": 2000}
    assert complete(model, graph, head="c7", more=False, **options) == []
    assert len(complete(model, graph, head="c7", **options)) == 32
    assert len(complete(model, graph, head="c1", more=False, **options)) == 33
    whole = complete(model, graph, more=False, **options)
    assert len(complete(model, graph, more=False, include_known=True, **options)) > len(whole)
    assert {triple.head for triple in whole} == {"c0", "c1", "c2", "k0", "k1", "k2", "k3"}
    assert len(whole) == 7 * 33
    assert len(complete(model, graph, **options)) == 34 * 33 - 27


def test_candidates_are_relations_where_those_are_asked(table_case: Any) -> None:
    options = {"head": "e0", "tail": "e12", "include_known": True}
    found = complete(table_case.model, table_case.graph, candidates=["r3", "Relation One"], **options)
    assert {prediction.relation for prediction in found} == {"r1", "r3"}
    with pytest.raises(DataError, match=r"candidate 1: .*relation 'e1'"):
        complete(table_case.model, table_case.graph, candidates=["e1"], **options)


def test_all_there_is_comes_when_more_is_asked(table_case: Any) -> None:
    found = complete(table_case.model, table_case.graph, relation="r0", top=10**6, typed=False)
    known = sum(triple[1] == 0 for triple in table_case.graph.train)
    assert len(found) == 17 * 16 - known
    assert [prediction.rank for prediction in found] == list(range(1, len(found) + 1))
    assert not any(prediction.known == "train" or prediction.head == prediction.tail for prediction in found)
    assert {prediction.known for prediction in found} == {None, "valid", "test"}


def test_no_answer_is_an_empty_list(table_case: Any) -> None:
    model, graph = table_case.model, table_case.graph
    assert complete(model, graph, head="e0", relation="r0", candidates=[]) == []
    assert complete(model, graph, relation="r0", candidates=[]) == []
    assert complete(model, graph, relation="r0", candidates=["e4"]) == []  # only itself
    assert complete(model, graph, head="e0", tail="e1", candidates=[]) == []
    head, _, tail = graph.train[graph.train[:, 1] == 0][0]
    options = {"head": f"e{head}", "relation": "r0", "candidates": [f"e{tail}"]}
    assert complete(model, graph, **options) == []
    assert [prediction.known for prediction in complete(model, graph, include_known=True, **options)] == ["train"]


def test_labels_are_accepted_and_given(itransf_case: Any) -> None:
    model, graph = itransf_case.model, itransf_case.graph
    by_label = complete(model, graph, head="Entity One", relation="Relation One", top=3)
    assert by_label == complete(model, graph, head="e1", relation="r1", top=3)
    assert (by_label[0].head, by_label[0].head_label) == ("e1", "Entity One")
    assert (by_label[0].relation, by_label[0].relation_label) == ("r1", "Relation One")
    unlabelled = next(found for found in by_label if found.tail != "e1")
    assert json.loads(json.dumps(unlabelled.to_dict()))["tail_label"] == unlabelled.tail


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ({}, "nothing is given.*give head and relation"),
        ({"head": "e0"}, "only a head is given.*give head and relation"),
        ({"tail": "e0"}, "only a tail is given"),
        ({"head": "e0", "relation": "r0", "tail": "e1"}, "leave nothing to predict.*score the triple"),
        ({"relation": "r0", "top": 0}, "top .*at least 1, not 0"),
        ({"relation": "r0", "top": 2.5}, "top .*at least 1, not 2.5"),
        ({"relation": "r0", "top": True}, "top .*at least 1, not True"),
        ({"relation": "r0", "top": None}, "top .*at least 1, not None"),
        ({"relation": "r0", "top": "3"}, "top .*at least 1, not '3'"),
        ({"relation": "r0", "candidates": "e1"}, "a list of names, not 'e1'"),
        ({"relation": "r0", "candidates": 1}, "a list of names, not 1"),
    ],
)
def test_questions_that_cannot_be_answered(table_case: Any, question: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        complete(table_case.model, table_case.graph, **question)


def test_numbers_of_numpy_are_numbers(table_case: Any) -> None:
    asked = {"relation": "r0", "typed": False}
    few = complete(table_case.model, table_case.graph, top=np.uint8(16), **asked)
    assert few == complete(table_case.model, table_case.graph, top=16, **asked)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (
            {"head": "Entity Onne", "relation": "r0"},
            "unknown entity 'Entity Onne'.* 'Entity One'",
        ),
        ({"relation": "Relation Oen"}, "unknown relation 'Relation Oen'.* 'Relation One'"),
        ({"relation": "r0", "candidates": ["e1", "Entitty One"]}, "candidate 2: unknown entity.*Entity One"),
    ],
)
def test_unknown_names_are_reported_with_near_misses(table_case: Any, question: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        complete(table_case.model, table_case.graph, **question)


def test_a_diverged_model_is_refused(table_case: Any) -> None:
    with torch.no_grad():
        table_case.model.table[3, 0, 4] = torch.nan
    for question in ({"relation": "r0"}, {"head": "e3", "relation": "r0"}, {"head": "e3", "tail": "e4"}):
        with pytest.raises(ITransFError, match="diverged"):
            complete(table_case.model, table_case.graph, include_known=True, **question)


def test_scores_are_made_in_chunks_that_fit(itransf_case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model: Model = itransf_case.model
    sizes, opened = [], []
    original = model.scorer

    def watch(relation: int, side: Any, pool: Any = None) -> Any:
        scorer = original(relation, side, pool)
        opened.append((relation, side))

        def score_all(anchors: torch.Tensor) -> torch.Tensor:
            scores = scorer(anchors)
            sizes.append(scores.numel() * BYTES_PER_SCORE)
            return scores

        return score_all

    monkeypatch.setattr(model, "scorer", watch)
    monkeypatch.setattr("itransf.prediction.search.DEFAULT_MEMORY", 4 * 17 * BYTES_PER_SCORE)
    complete(model, itransf_case.graph, relation="r1", typed=False)
    assert opened == [(1, "tail")]
    assert sizes == [4 * 17 * BYTES_PER_SCORE] * 4 + [17 * BYTES_PER_SCORE]


def test_searching_a_relation_shows_progress(table_case: Any, capsys: pytest.CaptureFixture[str]) -> None:
    complete(table_case.model, table_case.graph, relation="Relation One", progress=True, typed=False)
    assert "Relation One: 17/17 heads" in capsys.readouterr().err


def test_nothing_is_left_to_be_differentiated(case: Any) -> None:
    complete(case.model, case.graph, relation="r0")
    complete(case.model, case.graph, head="e0", relation="r0")
    assert all(parameter.grad is None for parameter in case.model.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_gives_the_same(case: Any) -> None:
    questions = (
        {"relation": "r1"},
        {"head": "e3", "relation": "r0", "typed": False},
        {"head": "e3", "tail": "e4"},
    )
    here = [plain(complete(case.model, case.graph, **question)) for question in questions]
    case.model.cuda()
    for question, expected in zip(questions, here, strict=True):
        found = plain(complete(case.model, case.graph, **question))
        assert [row["tail"] for row in found] == [row["tail"] for row in expected]
        assert np.allclose([row["score"] for row in found], [row["score"] for row in expected])


@settings(deadline=None)
@given(ROWS, st.integers(1, 10))
def test_best_equal_a_full_sort_with_ties_by_column(rows: list[list[float]], top: int) -> None:
    values, columns = select_best(torch.tensor(rows), top)
    for row, best, places in zip(rows, values.tolist(), columns.tolist(), strict=True):
        expected = sorted(range(len(row)), key=lambda column: (-row[column], column))[:top]
        assert places == expected
        assert best == [row[column] for column in expected]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_nothing_to_choose_from_gives_nothing(shape: tuple[int, int]) -> None:
    values, columns = select_best(torch.zeros(shape), 4)
    assert values.shape == columns.shape == (shape[0], min(4, shape[1]))
    assert columns.dtype == torch.int64
