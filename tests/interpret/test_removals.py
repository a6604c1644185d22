from __future__ import annotations

from typing import Any

import pytest
import torch

from itransf.interpret import removals
from itransf.interpret.removals import try_removals
from itransf.interpret.rivals import hold_contest
from itransf.interpret.spaces import open_space
from itransf.models import MODELS, Sizes
from prediction.conftest import make_case, make_graph

TRIPLE = (1, 0, 12)


def make_model(kind: str, concepts: int = 5, support: int = 3, projected: str = "unit") -> Any:
    torch.manual_seed(2)
    config = MODELS["itransf"].Config(
        dim=6, concepts=concepts, support_size=support, attention=kind, projected_constraint=projected
    )
    model = MODELS["itransf"](Sizes(17, 4), config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5)
    return model


def rank_with(model: Any, attention: dict[str, torch.Tensor]) -> tuple[float, float]:
    """Return score and rank with this attention, by a model that holds it as free weights."""
    config = MODELS["itransf"].Config(
        dim=6, concepts=5, attention="l1", projected_constraint=model.config.projected_constraint
    )
    free: Any = MODELS["itransf"](Sizes(17, 4), config).double()
    with torch.no_grad():
        for name in ("entities", "relations", "concepts"):
            getattr(free, name).copy_(getattr(model, name))
        for side in ("head", "tail"):
            free.concept_projection(side).scores.copy_(model.concept_projection(side).attention())
            free.concept_projection(side).scores[TRIPLE[1]] = attention[side]
    contest = hold_contest(open_space(free, TRIPLE[1]), make_graph(), TRIPLE, "tail")
    return contest.score, contest.rank


@pytest.mark.parametrize("kind", ["sparse", "dense", "l1"])
@pytest.mark.parametrize("projected", ["unit", "none"])
def test_a_removal_equals_a_model_whose_weights_are_renormalised(kind: str, projected: str) -> None:
    model = make_model(kind, projected=projected)
    found = try_removals(open_space(model, TRIPLE[1]), make_graph(), TRIPLE, "tail")
    attention = {side: model.concept_projection(side).attention()[TRIPLE[1]].detach() for side in ("head", "tail")}
    assert len(found) == sum(int((weights != 0).sum()) for weights in attention.values())
    for removal in found:
        changed = {side: weights.clone() for side, weights in attention.items()}
        changed[removal.side][removal.concept] = 0.0
        if kind != "l1":
            changed[removal.side] /= changed[removal.side].sum()
        assert removal.weight == pytest.approx(float(attention[removal.side][removal.concept]))
        score, rank = rank_with(model, changed)
        assert removal.score == pytest.approx(score, abs=1e-6)
        assert removal.rank == rank
    assert [removal.rank for removal in found] == sorted((removal.rank for removal in found), reverse=True)


def test_a_lone_concept_and_a_matrix_of_its_own_cannot_go() -> None:
    lone = make_model("sparse", support=1)
    assert try_removals(open_space(lone, 0), make_graph(), TRIPLE, "tail") == []
    for name in ("transe", "stranse"):
        case = make_case(name)
        assert try_removals(open_space(case.model, 0), case.graph, TRIPLE, "tail") == []


def test_of_many_concepts_only_the_heaviest_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removals, "MOST_TRIED", 2)
    model = make_model("dense")
    found = try_removals(open_space(model, 0), make_graph(), TRIPLE, "head")
    assert len(found) == 4
    for side in ("head", "tail"):
        weights = model.concept_projection(side).attention()[0]
        heaviest = set(weights.topk(2).indices.tolist())
        assert {removal.concept for removal in found if removal.side == side} == heaviest
    assert found[0].to_dict()["rank"] == found[0].rank
