"""A model that is a table of scores, so that ranks can be counted by hand."""

from __future__ import annotations

import numpy.typing as npt
import torch
from torch import Tensor, nn

from itransf.models import Model, Sizes


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
