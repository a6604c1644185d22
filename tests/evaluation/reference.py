"""Ranks counted one entity at a time, and models whose scores are exact in float32."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt
import torch

from itransf.data.graph import Graph
from itransf.evaluation.ranking import Ranks, Ties
from itransf.models import MODELS, SIDES, Model, Side, Sizes
from stubs import BilinearConfig, BilinearModel

if TYPE_CHECKING:
    from conftest import Configure

SHARES = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}
EXACT = ["transe-1", "transe-2", "transr-1", "stranse-2", "itransf-1", "itransf-2", "dot-shared", "dot-own"]


def exact_model(configure: Configure, name: str, sizes: Sizes) -> Any:
    """Return a model of small whole numbers: its scores are exact in float32, so ties are ties."""
    torch.manual_seed(0)
    kind, kept = name.split("-")
    if kind == "dot":
        return BilinearModel(sizes, BilinearConfig(shared=kept == "shared"))
    config = configure(kind, "model.projected_constraint=none", f"model.p_norm={kept}").model
    model: Any = MODELS[kind](sizes, config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randint(-2, 3, parameter.shape).float())
        if kind == "itransf":  # weights of one half are exact
            model.project_head.scores.zero_()
            model.project_tail.scores.zero_()
    return model


def score_everything(model: Model) -> npt.NDArray[Any]:
    """Return the score of every possible triple, (heads, relations, tails), in float64."""
    e, r = model.sizes.entities, model.sizes.relations
    cells = torch.cartesian_prod(torch.arange(e), torch.arange(r), torch.arange(e))
    with torch.no_grad():
        return copy.deepcopy(model).cpu().double().score(*cells.T).view(e, r, e).numpy()


def brute_force(
    table: npt.NDArray[Any],
    graph: Graph,
    triple: list[int],
    side: Side,
    *,
    filtered: bool,
    ties: Ties,
    loops: npt.NDArray[np.bool_] | None = None,
    typed: bool = False,
) -> tuple[float, int]:
    """Return one triple's rank and its number of rivals, counted one entity at a time."""
    known = {tuple(other) for split in ("train", "valid", "test") for other in graph.split(split).tolist()}
    head, relation, tail = triple
    above = tied = rivals = 0
    for entity in range(len(table)):
        other = (entity, relation, tail) if side == "head" else (head, relation, entity)
        is_loop = loops is not None and not loops[relation] and other[0] == other[2]
        if other == tuple(triple) or (filtered and (other in known or is_loop)):
            continue
        if typed and not graph.typing.fits(entity, relation, side):
            continue
        rivals += 1
        above += table[other] > table[tuple(triple)]
        tied += table[other] == table[tuple(triple)]
    return 1 + above + SHARES[ties] * tied, rivals


def check_ranks(
    found: Ranks,
    table: npt.NDArray[Any],
    graph: Graph,
    loops: npt.NDArray[np.bool_] | None = None,
    typed: bool = False,
) -> None:
    """Check ranks and rivals of both sides and protocols under all tie policies against brute force."""
    for number, side in enumerate(SIDES):
        for protocol, filtered in enumerate((True, False)):
            for ties in get_args(Ties):
                wanted = [
                    brute_force(table, graph, triple, side, filtered=filtered, ties=ties, loops=loops, typed=typed)
                    for triple in found.triples.tolist()
                ]
                assert found.ranks(side, filtered, ties).tolist() == [rank for rank, _ in wanted]
                assert found.rivals[protocol, number].tolist() == [rivals for _, rivals in wanted]
