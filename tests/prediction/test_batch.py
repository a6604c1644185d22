from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from itransf.errors import ConfigError, DataError
from itransf.prediction import Query, answer_queries, complete


def draw_queries(count: int = 30) -> list[Query]:
    generator = np.random.default_rng(2)
    queries = []
    for _ in range(count):
        entity, relation = f"e{generator.integers(17)}", f"r{generator.integers(4)}"
        asks_tail = generator.random() < 0.5
        queries.append(Query(entity if asks_tail else None, relation, None if asks_tail else entity))
    return queries


def draw_relation_queries() -> list[Query]:
    return [Query("e0", None, "e1"), Query("Entity One", None, "e9"), Query("e0", None, "e1")]


NAMED = ("head", "relation", "tail", "head_label", "relation_label", "tail_label")


@pytest.mark.parametrize("memory", [1, 2**20])
@pytest.mark.parametrize(
    "options", [{}, {"typed": False}, {"candidates": ["e3", "Entity One", "e12"], "include_known": True}]
)
def test_many_queries_equal_one_by_one(
    case: Any, options: dict[str, Any], memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = draw_queries(10) + draw_relation_queries() + draw_queries()
    with monkeypatch.context() as patch:
        patch.setattr("itransf.prediction.search.DEFAULT_MEMORY", memory)
        table = answer_queries(case.model, case.graph, queries, 4, **options)
    expected = []
    for number, query in enumerate(queries, start=1):
        asked = {"head": query.head, "relation": query.relation, "tail": query.tail}
        chosen = {key: value for key, value in options.items() if key != "candidates" or query.relation is not None}
        for found in complete(case.model, case.graph, top=4, **asked, **chosen):
            row = found.to_dict()
            keys = (*NAMED, "score", "rank", "known", "probability")
            expected.append({"query": number} | {key: row[key] for key in keys})
    rows = table.to_pylist()
    scores = [row.pop("score") for row in rows]
    assert scores == pytest.approx([row.pop("score") for row in expected], abs=1e-9)
    assert rows == expected


def test_the_table_has_the_promised_columns(itransf_case: Any) -> None:
    for queries in ([Query("Entity One", "Relation One", None)], []):
        table = answer_queries(itransf_case.model, itransf_case.graph, queries)
        assert table.column_names == ["query", *NAMED, "score", "rank", "known", "probability"]
        assert table.schema.field("query").type == table.schema.field("rank").type == pa.int64()
        assert pa.types.is_floating(table.schema.field("score").type)
        assert table.schema.field("known").type == pa.string()
        assert len(table) == 10 * len(queries)


def test_queries_without_answers_leave_no_rows(table_case: Any) -> None:
    queries = [Query("e0", "r0", None), Query(None, "r1", "e1")]
    assert len(answer_queries(table_case.model, table_case.graph, queries, candidates=[])) == 0


def test_each_relation_and_side_is_opened_once(
    itransf_case: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = []
    original = itransf_case.model.scorer
    monkeypatch.setattr(itransf_case.model, "scorer", lambda *given: opened.append(given[:2]) or original(*given))
    queries = draw_queries()
    monkeypatch.setattr("itransf.prediction.search.DEFAULT_MEMORY", 1)
    answer_queries(itransf_case.model, itransf_case.graph, queries, progress=True)
    assert sorted(opened) == sorted(
        {(int(str(query.relation)[1]), "head" if query.head is None else "tail") for query in queries}
    )
    assert "answering: 30/30 queries" in capsys.readouterr().err


def test_unknown_names_are_reported_with_their_place(table_case: Any) -> None:
    model, graph = table_case.model, table_case.graph
    near = r"unknown entity 'Entity Onne'. Did you mean 'Entity One'"
    with pytest.raises(DataError, match=rf"query 2: {near}"):
        answer_queries(model, graph, [Query("e0", "r0", None), Query("Entity Onne", "r0", None)])
    with pytest.raises(DataError, match=rf"q.tsv, line 7: {near}"):
        answer_queries(model, graph, [Query(None, "r0", "Entity Onne", "q.tsv, line 7")])
    with pytest.raises(DataError, match=r"query 1: .*'Relation Oen'.*Did you mean"):
        answer_queries(model, graph, [Query(None, "Relation Oen", "e0")])
    with pytest.raises(ConfigError, match=r"top .*at least 1, not 0"):
        answer_queries(model, graph, [], top=0)
