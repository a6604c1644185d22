from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from itransf.data import Graph
from itransf.errors import DataError, ITransFError
from itransf.interpret import explain
from itransf.models import TransE
from itransf.models.base import Sizes
from itransf.prediction import complete, resolve_triples, score_triples
from itransf.prediction.search import BYTES_PER_SCORE
from prediction.conftest import name_triple


def count_naively(case: Any, triple: tuple[int, int, int], place: int, looping: int) -> tuple[float, int]:
    """Return the rank of a triple and its number of rivals when the entity at `place` is replaced."""
    rank, rivals = 1.0, 0
    for entity in range(17):
        other = (*triple[:place], entity, *triple[place + 1 :])
        loop = other[0] == other[2] and triple[1] != looping
        if entity == triple[place] or other in case.known or loop:
            continue
        if not case.graph.typing.fits(entity, triple[1], "head" if place == 0 else "tail"):
            continue
        rivals += 1
        rank += (case.scores[other] > case.scores[triple]) + 0.5 * (case.scores[other] == case.scores[triple])
    return rank, rivals


def draw_triples(graph: Graph) -> list[tuple[int, int, int]]:
    generator = np.random.default_rng(1)
    drawn = np.stack([generator.integers(0, size, 25) for size in (17, 4, 17)], axis=1)
    triples = np.concatenate([drawn, graph.train[:5], graph.valid[:5], graph.test[:5], drawn[:1]])
    return [(int(h), int(r), int(t)) for h, r, t in triples[generator.permutation(len(triples))]]


@pytest.mark.parametrize("memory", [1, 3 * 17 * BYTES_PER_SCORE, 2**20])
def test_ranks_equal_a_naive_count(case: Any, memory: int, looping: int) -> None:
    triples = [*draw_triples(case.graph), (3, 0, 3), (3, looping, 3)]
    scored = score_triples(case.model, case.graph, [name_triple(triple) for triple in triples], memory)
    assert [(s.head, s.relation, s.tail) for s in scored] == [name_triple(triple) for triple in triples]
    for triple, found in zip(triples, scored, strict=True):
        tail_rank, tail_rivals = count_naively(case, triple, 2, looping)
        head_rank, head_rivals = count_naively(case, triple, 0, looping)
        assert (found.tail_rank, found.head_rank) == (tail_rank, head_rank)
        lost = tail_rank - 1 + head_rank - 1
        rivals = tail_rivals + head_rivals
        assert found.percentile == pytest.approx(100 * (rivals - lost) / rivals)
        assert found.score == pytest.approx(case.scores[triple], abs=1e-9)


def test_the_split_of_a_triple_is_shown(table_case: Any) -> None:
    graph = table_case.graph
    triples = [tuple(graph.split(split)[0].tolist()) for split in ("test", "train", "valid")]
    unknown = next((0, 0, tail) for tail in range(1, 17) if (0, 0, tail) not in table_case.known)
    scored = score_triples(table_case.model, graph, [name_triple(triple) for triple in (*triples, unknown)])
    assert [found.known for found in scored] == ["test", "train", "valid", None]
    assert score_triples(table_case.model, graph, [name_triple(unknown)])[0].known is None


def test_a_triple_in_two_splits_has_the_first() -> None:
    triples = np.array([[0, 0, 1], [1, 0, 2]])
    base = Graph.from_names("small", [("a", "r", "b"), ("b", "r", "c")])
    graph = Graph("small", base.entities, base.relations, triples[:1], triples, triples[1:])
    model = TransE(Sizes(3, 1), TransE.Config(dim=4))
    names = [tuple(base.entities.name(int(n)) for n in row[[0, 2]]) for row in triples]
    scored = score_triples(model, graph, [(head, "r", tail) for head, tail in names])
    assert [found.known for found in scored] == ["train", "valid"]


@pytest.mark.parametrize("relation", ["r0", "r2"])  # without and with triples of an entity with itself
def test_predictions_scores_and_explanations_agree(itransf_case: Any, relation: str) -> None:
    model, graph = itransf_case.model, itransf_case.graph
    predictions = complete(model, graph, head="e2", relation=relation, top=17)
    scored = score_triples(model, graph, predictions)
    for prediction, found in zip(predictions, scored, strict=True):
        assert found.score == prediction.score
        assert found.known == prediction.known
        before = predictions[: prediction.rank - 1]
        assert found.tail_rank == 1 + sum(other.known is None for other in before)  # held-out ones are no competitors
        why = explain(model, graph, found.head, found.relation, found.tail, removals=False)
        assert why.ranks == {"head": found.head_rank, "tail": found.tail_rank}


def test_triples_may_be_given_by_name_or_be_predictions(table_case: Any) -> None:
    model, graph = table_case.model, table_case.graph
    (prediction,) = complete(model, graph, head="e2", relation="r0", top=1)
    names = (prediction.head, prediction.relation, prediction.tail)
    wanted = score_triples(model, graph, [names])
    columns = {"tail": names[2], "note": "from elsewhere", "head": names[0], "relation": names[1]}
    for given in (prediction, wanted[0], prediction.to_dict(), columns, list(names), np.array(names)):
        assert score_triples(model, graph, [given]) == wanted
    assert score_triples(model, graph, iter([names])) == wanted


def test_a_place_is_looked_up_only_for_a_message(table_case: Any) -> None:
    def locate(row: int) -> str:
        raise AssertionError(row)

    assert len(resolve_triples(table_case.graph, [("e0", "r0", "e1")], locate))


def test_a_triple_without_rivals_has_beaten_all_of_them() -> None:
    graph = Graph.from_names("two", [("a", "r", "b"), ("b", "r", "b"), ("a", "r", "a")])
    model = TransE(Sizes(2, 1), TransE.Config(dim=4))
    (found,) = score_triples(model, graph, [("a", "r", "b")])
    assert (found.tail_rank, found.head_rank, found.percentile) == (1.0, 1.0, 100.0)


def test_nothing_to_score_gives_nothing(table_case: Any) -> None:
    assert score_triples(table_case.model, table_case.graph, []) == []


def test_labels_are_accepted_and_given(table_case: Any) -> None:
    (found,) = score_triples(table_case.model, table_case.graph, [("Entity One", "Relation One", "e0")])
    assert (found.head, found.head_label, found.relation_label) == ("e1", "Entity One", "Relation One")
    assert set(json.loads(json.dumps(found.to_dict()))) >= {"score", "known", "tail_rank", "percentile"}


def test_each_relation_and_side_is_opened_once(
    itransf_case: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = []
    original = itransf_case.model.scorer
    monkeypatch.setattr(itransf_case.model, "scorer", lambda *given: opened.append(given[:2]) or original(*given))
    triples = [(f"e{n}", f"r{n % 2}", "e0") for n in range(1, 9)]
    monkeypatch.setattr("itransf.prediction.search.DEFAULT_MEMORY", 1)
    score_triples(itransf_case.model, itransf_case.graph, triples, progress=True)
    assert sorted(opened) == [(0, "head"), (0, "tail"), (1, "head"), (1, "tail")]
    assert "scoring: 16/16 queries" in capsys.readouterr().err


def test_wrong_triples_are_reported_with_their_place(table_case: Any) -> None:
    triples = [("e0", "r0", "e1"), ("Entity Onne", "r0", "e1")]
    with pytest.raises(DataError, match=r"triple 2: .*'Entity Onne'.* 'Entity One'"):
        score_triples(table_case.model, table_case.graph, triples)
    with pytest.raises(DataError, match=r"f.tsv, line 9: unknown"):
        resolve_triples(table_case.graph, triples, lambda row: f"f.tsv, line {row + 8}")
    for wrong in (("e0", "r0"), "e0 ", "e01", None, 5, {"e0", "r0", "e1"}, {"head": "e0", "tail": "e1"}):
        with pytest.raises(DataError, match=r"triple 1: .*three names"):
            score_triples(table_case.model, table_case.graph, [wrong])  # type: ignore[list-item]
    with pytest.raises(DataError, match=r"triple 1: unknown entity None"):
        score_triples(table_case.model, table_case.graph, [("e0", "r0", None)])  # type: ignore[list-item]
    with pytest.raises(DataError, match=r"triple 1: unknown relation 5. Names are text"):
        score_triples(table_case.model, table_case.graph, [("e0", 5, 5)])  # type: ignore[list-item]
    for wrong in (None, 5, "e0", {"head": "e0", "relation": "r0", "tail": "e1"}):
        with pytest.raises(DataError, match=r"not a list of triples"):
            score_triples(table_case.model, table_case.graph, wrong)  # type: ignore[arg-type]


def test_a_diverged_model_is_refused(table_case: Any) -> None:
    with torch.no_grad():
        table_case.model.table.fill_(torch.nan)
    with pytest.raises(ITransFError, match="diverged"):
        score_triples(table_case.model, table_case.graph, [("e0", "r0", "e1")])
