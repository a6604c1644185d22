from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from evaluation.tables import TableModel
from itransf.data.graph import Graph
from itransf.evaluation.ranking_cuda import can_rank_on_device, cut_into_turns, look_up_known, rank_on_device
from itransf.models import MODELS, SIDES, Sizes
from itransf.models.base import QueryModel
from itransf.ops.counting_cuda import Tiling

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

pytest.importorskip("triton")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ENTITIES, RELATIONS = 13, 4
TILING = Tiling(queries=4, candidates=16, warps=1, unroll=2)
EVERYTHING = 1 << 30


@pytest.fixture(scope="module")
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(ENTITIES, RELATIONS, train=60, valid=8, test=14)


def whole_number_model(configure: Configure, name: str, norm: int) -> QueryModel:
    """A model whose every distance is exact in float32: ties are ties."""
    torch.manual_seed(0)
    model = MODELS[name](
        Sizes(ENTITIES, RELATIONS), configure(name, "model.projected_constraint=none", f"model.p_norm={norm}").model
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape).float())
        if name == "itransf":  # two concepts of one half each
            model.project_head.scores.zero_()  # type: ignore[union-attr]
            model.project_tail.scores.zero_()  # type: ignore[union-attr]
    assert isinstance(model, QueryModel)
    return model.to(DEVICE)


def count_one_by_one(model: QueryModel, graph: Graph) -> np.ndarray:
    """Above, tied and rivals, (3, 2, 2, n), from the model's scores of single triples."""
    known = {tuple(triple) for split in ("train", "valid", "test") for triple in graph.split(split).tolist()}
    cells = torch.cartesian_prod(*(torch.arange(size) for size in (ENTITIES, RELATIONS, ENTITIES)))
    with torch.no_grad():
        scores = model.score(*cells.T.to(DEVICE)).view(ENTITIES, RELATIONS, ENTITIES).cpu().numpy()
    counts = np.zeros((3, 2, 2, len(graph.test)), dtype=np.int64)
    for number, triple in enumerate(map(tuple, graph.test.tolist())):
        for place, side in enumerate(SIDES):
            for entity in range(ENTITIES):
                other = (entity, *triple[1:]) if side == "head" else (*triple[:2], entity)
                if other != triple:
                    protocols = [1] if other in known else [0, 1]
                    counts[0, protocols, place, number] += scores[other] > scores[triple]
                    counts[1, protocols, place, number] += scores[other] == scores[triple]
                    counts[2, protocols, place, number] += 1
    return counts


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("name", ["itransf", "transe"])
def test_counts_equal_those_of_single_scores(configure: Configure, graph: Graph, name: str, norm: int) -> None:
    model = whole_number_model(configure, name, norm)
    found = np.stack(rank_on_device(model, graph.test, graph.known, EVERYTHING, tiling=TILING))
    assert np.array_equal(found, count_one_by_one(model, graph))
    assert found[1].sum() > 0


@pytest.mark.parametrize("memory", [1, 3 * ENTITIES * 4 * 4 * 2])
def test_the_memory_changes_nothing(
    configure: Configure, graph: Graph, memory: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """One question at a time; then two relations at a time."""
    model = whole_number_model(configure, "itransf", 1)
    triples = graph.test[:6]
    bounded = rank_on_device(model, triples, graph.known, memory, progress=True, tiling=TILING)
    assert np.array_equal(bounded, rank_on_device(model, triples, graph.known, EVERYTHING, tiling=TILING))
    assert "ranking: 12/12 queries" in capsys.readouterr().err


def test_no_triples_give_no_counts(configure: Configure, graph: Graph) -> None:
    model = whole_number_model(configure, "itransf", 1)
    for counts in rank_on_device(model, graph.test[:0], graph.known, EVERYTHING):
        assert counts.shape == (2, 2, 0)


def test_turns_keep_relations_together_where_they_fit() -> None:
    relations = np.array([0, 0, 0, 2, 5, 5, 7])
    assert list(cut_into_turns(relations, (10, 1), 20)) == [(0, 4), (4, 7)]
    assert list(cut_into_turns(relations, (10, 1), 1)) == [(place, place + 1) for place in range(7)]
    assert list(cut_into_turns(relations, (10, 10), 20)) == [(0, 2), (2, 4), (4, 6), (6, 7)]
    assert list(cut_into_turns(relations, (10, 1), 1000)) == [(0, 7)]
    assert list(cut_into_turns(relations[:0], (10, 1), 20)) == []


@pytest.mark.parametrize("side", SIDES)
def test_questions_asked_twice_share_their_known_answers(number_graph: GraphMaker, side: str) -> None:
    triples = [(0, 0, 1), (0, 0, 2), (3, 1, 1), (3, 0, 2), (4, 1, 1)]
    known = number_graph(triples).known
    anchors, relations = (np.array([0, 3, 0, 2]), np.array([0, 1, 0, 0]))
    starts, ends, values = look_up_known(known, anchors, relations, side)  # type: ignore[arg-type]
    lists = [values[start:end].tolist() for start, end in zip(starts, ends, strict=True)]
    assert lists == ([[1, 2], [1], [1, 2], []] if side == "tail" else [[], [], [], [0, 3]])
    assert len(values) == sum(map(len, {tuple(row) for row in lists}))


def test_only_float32_distances_on_a_gpu_can_be_ranked_there(configure: Configure) -> None:
    model = whole_number_model(configure, "transe", 1)
    assert can_rank_on_device(model) == torch.cuda.is_available()
    assert not can_rank_on_device(model.double())
    assert not can_rank_on_device(TableModel(np.zeros((2, 1, 2))))
