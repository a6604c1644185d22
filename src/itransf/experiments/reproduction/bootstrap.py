"""Bootstrap over questions: how far a figure would move, had the test triples been drawn anew.

Triples are drawn with replacement, and both questions of a triple (for its head, for its tail) come with it. The draws
depend on nothing but how many triples there are, so all runs that rank the same triples are judged on the same draws:
the difference of two runs' replicates is the replicate of their difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from itransf.evaluation import Ranks
from itransf.models import SIDES

Floats = npt.NDArray[np.float64]

REPLICATES = 1000
SEED = 0
_AT_ONCE = 1 << 21  # draws that are held at a time


def resample_triples(ranks: Ranks, replicates: int = REPLICATES) -> dict[str, Floats]:
    """Return replicates of mean rank and Hits@10 (as a share), filtered, over both sides, by metric.

    Args:
        ranks: Of at least one triple.
        replicates: How often the triples are drawn anew.
    """
    by_triple = np.stack([ranks.ranks(side) for side in SIDES], axis=1)  # (n, 2)
    values = np.stack([by_triple.mean(axis=1), (by_triple <= 10).mean(axis=1)], axis=1)  # (n, 2 metrics)
    mean_ranks, hits = resample_means(values, replicates, np.random.default_rng(SEED)).T
    return {"mr": mean_ranks, "hits@10": hits}


def resample_relations(values: Sequence[Floats], replicates: int = REPLICATES) -> Floats:
    """Return replicates of each relation's mean, (relations, replicates); triples are drawn within each relation.

    The draws of a relation depend on its place and on how many triples it has, so runs are compared by giving their
    relations in the same order, and leaving a relation out of an average leaves the others' draws as they were.

    Args:
        values: For each relation one value per triple, such as the share of its two questions that was answered.
        replicates: How often the triples are drawn anew.
    """
    found = [
        resample_means(np.asarray(own, dtype=np.float64)[:, None], replicates, np.random.default_rng([SEED, place]))
        for place, own in enumerate(values)
    ]
    return np.stack(found)[:, :, 0]


def resample_means(values: Floats, replicates: int, generator: np.random.Generator) -> Floats:
    """Return the means (replicates, v) of rows (n, v) drawn with replacement, n at a time."""
    n = len(values)
    found = []
    for start in range(0, replicates, max(1, _AT_ONCE // n)):
        rounds = min(max(1, _AT_ONCE // n), replicates - start)
        drawn = generator.integers(n, size=(rounds, n))
        # How often each row was drawn, (rounds, n): a product with the values is the sum of those drawn.
        places = (drawn + n * np.arange(rounds)[:, None]).reshape(-1)
        counts = np.bincount(places, minlength=rounds * n).reshape(rounds, n)
        found.append(counts @ values / n)
    return np.concatenate(found)
