"""A model that is a table of scores, so that ranks can be counted by hand."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor, nn

from itransf.data.graph import Graph
from itransf.evaluation.ranking import Ties
from itransf.models import Model, Side, Sizes

SHARES = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}


class TableModel(Model):
    """Scores (heads, relations, tails) read from a table."""

    def __init__(self, table: npt.ArrayLike) -> None:
        scores = torch.as_tensor(table, dtype=torch.float32)
        super().__init__(Sizes(scores.shape[0], scores.shape[1]), None)
        self.table = nn.Parameter(scores)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        return self.table[heads, relations, tails]

    def score_tails(self, heads: Tensor, relations: Tensor) -> Tensor:
        return self.table[heads, relations]

    def score_heads(self, relations: Tensor, tails: Tensor) -> Tensor:
        return self.table[:, relations, tails].T


def brute_force(
    table: npt.NDArray[Any], graph: Graph, triple: list[int], side: Side, *, filtered: bool, ties: Ties
) -> tuple[float, int]:
    """One triple's rank, and among how many rivals, counted one entity at a time."""
    known = {tuple(other) for split in ("train", "valid", "test") for other in graph.split(split).tolist()}
    head, relation, tail = triple
    above = tied = rivals = 0
    for entity in range(len(table)):
        other = (entity, relation, tail) if side == "head" else (head, relation, entity)
        if other == tuple(triple) or (filtered and other in known):
            continue
        rivals += 1
        above += table[other] > table[tuple(triple)]
        tied += table[other] == table[tuple(triple)]
    return 1 + above + SHARES[ties] * tied, rivals
