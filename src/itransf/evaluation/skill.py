"""Skill: how much better a model ranks the answers of each relation than their frequency in train does."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from itransf.data import Floats, Graph, Integers
from itransf.evaluation.ranking import DEFAULT_MEMORY, Ranks, rank_as_predicted, sample_triples
from itransf.models.base import SIDES, Model, Pool, Scorer, Side, Sizes

FEWEST_TRIPLES = 5
"""Triples of a relation below which nothing is said about its skill."""
LARGE_GAIN = 0.25
"""A relation whose interval holds both no gain and this one has too few triples."""
BETTER, NO_BETTER, TOO_FEW = "better than popularity", "no better than popularity", "too few triples to tell"
NORMAL_QUANTILE = 1.959964  # of 97.5 %


@dataclass(frozen=True)
class Skill:
    """Mean reciprocal ranks of a relation's answers, head and tail, by the rule of `rank_as_predicted`.

    Attributes:
        queries: Number of answers ranked: two for each triple.
        model: Mean reciprocal rank by the model's scores.
        popularity: By how often an entity occurs on that side of the relation in train, equal ones in random order.
        chance: In random order.
        low: Lower end of the 95 % interval of `gain`.
        high: Upper end.
    """

    queries: int
    model: float
    popularity: float
    chance: float
    low: float
    high: float

    @property
    def gain(self) -> float:
        """The skill: how much the model is better than popularity."""
        return self.model - self.popularity

    @property
    def verdict(self) -> str:
        """Whether the model is better than popularity, or not, or the relation has too few triples to tell."""
        if self.queries < len(SIDES) * FEWEST_TRIPLES:
            return TOO_FEW
        if self.low > 0.0:
            return BETTER
        return TOO_FEW if self.high > LARGE_GAIN else NO_BETTER

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return {**asdict(self), "gain": self.gain, "verdict": self.verdict}


def measure_skill(model: Model, graph: Graph, split: str = "valid", memory: int = DEFAULT_MEMORY) -> dict[int, Skill]:
    """Return the skill of each relation that occurs in a split, or in a sample of a large one, by its number.

    Args:
        model: Scoring model.
        graph: Graph whose split is ranked.
        split: "train", "valid" or "test".
        memory: Bytes for one chunk of scores.
    """
    triples = sample_triples(graph.split(split), len(graph.entities))
    return compare_with_popularity(rank_as_predicted(model, graph, triples, memory), graph, memory)


def compare_with_popularity(ranks: Ranks, graph: Graph, memory: int = DEFAULT_MEMORY) -> dict[int, Skill]:
    """Return the skill of each relation from the ranks that `rank_as_predicted` gives with a model."""
    popular = rank_as_predicted(Popularity(graph), graph, ranks.triples, memory)
    above_and_tied = (
        (ranks.above[0], ranks.tied[0]),
        (popular.above[0], popular.tied[0]),
        (np.zeros_like(ranks.rivals[0]), ranks.rivals[0]),
    )
    columns = [expect_reciprocal_ranks(above, tied).mean(0) for above, tied in above_and_tied]  # both sides of a triple
    of_model, of_popularity, of_chance = columns  # (n,)
    found = {}
    for relation in np.unique(ranks.triples[:, 1]).tolist():
        rows = ranks.triples[:, 1] == relation
        model, popularity, chance = (float(each[rows].mean()) for each in (of_model, of_popularity, of_chance))
        interval = bound_mean(of_model[rows] - of_popularity[rows])
        found[relation] = Skill(len(SIDES) * int(rows.sum()), model, popularity, chance, *interval)
    return found


class Popularity(Model):
    """Scores an entity by how often it occurs on that side of the relation in train."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(Sizes(len(graph.entities), len(graph.relations)), None)
        order = np.argsort(graph.train[:, 1], kind="stable")
        self._offsets = np.append(0, np.cumsum(graph.statistics.counts))
        self._triples = torch.from_numpy(graph.train[order])
        self.place = nn.Parameter(torch.zeros(0, device="cpu"), requires_grad=False)  # says where scores are computed

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Not defined: the two sides of a triple have scores of their own."""
        raise NotImplementedError("popularity scores the sides of a triple, not the triple")

    def scorer(self, relation: int, side: Side, pool: Pool | None = None) -> Scorer:
        """Return a function from anchors (q,) to the frequencies (q, n) of the pool's entities."""
        triples = self._triples[slice(*self._offsets[relation : relation + 2])]
        counts = torch.bincount(triples[:, 0 if side == "head" else 2], minlength=self.sizes.entities).float()
        if pool is not None and pool.entities is not None:
            counts = counts[pool.entities]
        return lambda anchors: counts.expand(len(anchors), -1)


def expect_reciprocal_ranks(above: Integers, tied: Integers) -> Floats:
    """Return the mean of 1 / rank over all orders of an answer and those tied with it, below those above it."""
    sums = np.append(0.0, np.cumsum(1.0 / np.arange(1, int((above + tied).max(initial=0)) + 2)))
    return np.asarray((sums[above + tied + 1] - sums[above]) / (tied + 1))


def bound_mean(values: Floats) -> tuple[float, float]:
    """Return a 95 % interval of the mean of values between -1 and 1, from Student's t distribution.

    One value of zero is added: otherwise a few equal values would give an interval without width.
    """
    values = np.append(values, 0.0)
    z, freedom = NORMAL_QUANTILE, len(values) - 1
    # The expansion of the quantile by Cornish and Fisher; too low by 1 % for five degrees of freedom.
    quantile = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    half = quantile * float(values.std(ddof=1)) / math.sqrt(len(values))
    return max(float(values.mean()) - half, -1.0), min(float(values.mean()) + half, 1.0)
