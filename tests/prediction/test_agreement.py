from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from itransf.models import MODELS, Ensemble, Model, Sizes
from itransf.prediction import Agreement, Query, answer_queries, complete, score_triples
from itransf.prediction.predict import AGREED, find_agreement
from itransf.prediction.search import Search

if TYPE_CHECKING:
    from conftest import GraphMaker
    from itransf.data.graph import Graph


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=30, relations=3, train=60)


@pytest.fixture
def members(graph: Graph) -> list[Model]:
    """Three models that agree in part: the same random weights, and more or less noise."""
    made = []
    for seed, noise in enumerate((0.0, 0.3, 2.0)):
        torch.manual_seed(0)
        model = MODELS["distmult"](Sizes(30, 3), MODELS["distmult"].Config(dim=4))
        torch.manual_seed(seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(noise * parameter.std() * torch.randn_like(parameter))
        made.append(model.eval())
    return made


def rank_naively(model: Model, graph: Graph, names: tuple[str, str, str], side: str) -> float:
    """The rank that `score_triples` gives a triple in one member."""
    (scored,) = score_triples(model, graph, [names])
    return scored.head_rank if side == "head" else scored.tail_rank


@pytest.mark.parametrize(
    ("query", "side"),
    [
        ({"head": "e3", "relation": "r1"}, "tail"),
        ({"relation": "r1", "tail": "e3"}, "head"),
        ({"relation": "r2"}, "tail"),
        ({"head": "e3", "tail": "e5"}, "tail"),
    ],
)
def test_a_prediction_says_how_the_members_rank_it(
    graph: Graph, members: list[Model], query: dict[str, str], side: str
) -> None:
    found = complete(Ensemble(members), graph, **query, top=25)
    assert found
    for each in found:
        ranks = [rank_naively(member, graph, (each.head, each.relation, each.tail), side) for member in members]
        agree = sum(rank <= AGREED for rank in ranks)
        assert each.agreement == Agreement(agree, 3, min(ranks), max(ranks))
        assert each.to_dict()["agree"] == agree
        assert "agreement" not in each.to_dict()
    if "head" not in query or "tail" not in query:
        assert len({each.agreement.agree for each in found if each.agreement}) > 1  # not always the same


def test_a_member_agrees_with_its_own_ten_best_answers(graph: Graph, members: list[Model]) -> None:
    alone = complete(members[1], graph, head="e3", relation="r1", top=30)
    rows = np.array([[3, 1, graph.entities.index(each.tail)] for each in alone])
    found = find_agreement(Search(Ensemble(members[1:2]), graph), rows, np.tile([False, False, True], (len(rows), 1)))
    assert [each.agree for each in found if each] == [1] * 10 + [0] * (len(alone) - 10)
    assert [each.best_rank for each in found if each] == [each.rank for each in alone]


def test_a_table_of_answers_has_the_columns_of_an_ensemble_alone(graph: Graph, members: list[Model]) -> None:
    queries = [Query("e3", "r1", None), Query(None, "r1", "e3"), Query("e3", None, "e5"), Query(None, "r0", "e7")]
    table = answer_queries(Ensemble(members), graph, queries, top=2)
    rows = table.to_pylist()
    for number, query in enumerate(queries, start=1):
        asked = {part: name for part in ("head", "relation", "tail") if (name := getattr(query, part))}
        wanted = [each.to_dict() for each in complete(Ensemble(members), graph, **asked, top=2)]
        for row, each in zip([row for row in rows if row["query"] == number], wanted, strict=True):
            assert {key: row[key] for key in row if key not in ("query", "score")} == {
                key: each[key] for key in row if key not in ("query", "score")
            }
    plain = answer_queries(members[0], graph, queries, top=2)
    assert table.column_names == [*plain.column_names, "agree", "seeds", "best_rank", "worst_rank"]
    assert answer_queries(Ensemble(members), graph, []).num_rows == 0


def test_other_models_have_no_agreement(graph: Graph, members: list[Model]) -> None:
    (found,) = complete(members[0], graph, head="e3", relation="r1", top=1)
    assert found.agreement is None
    assert not {"agreement", "agree", "seed"} & set(found.to_dict())
