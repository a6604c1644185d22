"""Agreement of the members of an ensemble on an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from itransf.data.graph import Triples
from itransf.data.known import Booleans
from itransf.evaluation import rank_as_predicted
from itransf.models import SIDES, Ensemble
from itransf.prediction.search import Search

AGREED = 10
"""The rank up to which a member agrees with an answer."""


@dataclass(frozen=True)
class Agreement:
    """How the members of an ensemble rank an answer.

    A rank is that of `score_triples`: among the entities that fit and whose triple is not known, of the head where
    heads are asked for, else of the tail.

    Attributes:
        agree: Number of members that rank it among their ten best.
        seeds: Number of members.
        best_rank: The best rank that a member gives it.
        worst_rank: The worst.
    """

    agree: int
    seeds: int
    best_rank: float
    worst_rank: float

    def describe(self, answer: str) -> str:
        """Return "4 of 5 seeds rank Lisbon among their ten best (ranks 1 to 12)"."""
        ranks = f"{self.best_rank:,g} to {self.worst_rank:,g}"
        return f"{self.agree} of {self.seeds} seeds rank {answer} among their ten best (ranks {ranks})"


def find_agreement(search: Search, triples: Triples, asked: Booleans) -> list[Agreement | None]:
    """Return how the members of an ensemble rank answers; None for each if the model is another one.

    Args:
        search: Model and graph.
        triples: Answers, (n, 3).
        asked: Which parts of each were asked for, (n, 3).
    """
    if not isinstance(search.model, Ensemble):
        return [None] * len(triples)
    asks_head = asked[:, 0] & ~asked[:, 2]
    sides = [side for side in SIDES if (asks_head == (side == "head")).any()]
    options: dict[str, Any] = {"keep_scores": True, "sides": sides}
    found = [rank_as_predicted(each, search.graph, triples, search.memory, **options) for each in search.model.members]
    ranks = np.stack([np.where(asks_head, each.ranks("head"), each.ranks("tail")) for each in found])  # (m, n)
    columns = ((ranks <= AGREED).sum(axis=0), ranks.min(axis=0), ranks.max(axis=0))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [Agreement(agree, len(found), best, worst) for agree, best, worst in rows]
