"""Inverse pairs: whether relations that mirror each other have mirrored attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from itransf.interpret.measures.findings import DRAWS, Finding, Floats, draw_weights, find_nothing, make_finding
from itransf.interpret.measures.gold import Gold
from itransf.interpret.measures.readings import Reading
from itransf.interpret.measures.statistics import average_precision

MEASURE, STATISTIC = "inverse pairs", "average precision"


def measure_inverses(readings: Sequence[Reading], gold: Gold, draws: int = DRAWS) -> Finding:
    """Return how well the similarity of attention alone ranks inverse pairs above all other pairs of relations.

    mirror(r, q) = (cos(head[r], tail[q]) + cos(tail[r], head[q])) / 2 over unordered pairs r != q, head[r] and tail[r]
    being attention vectors (of a model without concepts: matrices minus the identity); translations are left out.
    AP = mean over gold pairs of the share of gold pairs among all that score at least as high.
    The interval is over gold pairs and runs; the null gives the gold pairs to random relations.
    """
    if not len(gold.inverse):
        return find_nothing(MEASURE, STATISTIC, "train has no inverse pairs")
    rng = np.random.default_rng(0)
    drawn = draw_weights(len(gold.inverse), draws, rng)
    renamed = rng.permuted(np.tile(np.arange(len(gold.symmetric)), (draws, 1)), axis=1)
    once = np.ones((1, len(gold.inverse)))
    values, resampled, null = [], [], []
    for reading in readings:
        scores = score_mirrors(reading)
        everything = np.sort(scores[np.triu_indices(len(scores), k=1)])
        own = scores[gold.inverse[:, 0], gold.inverse[:, 1]]
        values.append(float(average_precision(own, everything, once)[0]))
        resampled.append(average_precision(own, everything, drawn))
        others = scores[renamed[:, gold.inverse[:, 0]], renamed[:, gold.inverse[:, 1]]]  # (draws, p)
        null.append([float(average_precision(other, everything, once)[0]) for other in others])
    counted = (len(gold.inverse), f"gold pairs among {len(everything):,}")
    return make_finding(MEASURE, STATISTIC, values, np.stack(resampled, axis=1), np.mean(null, axis=0), counted)


def score_mirrors(reading: Reading) -> Floats:
    """Return mirror(r, q), (r, r)."""
    crossed = reading.compare(0, 1)
    return np.asarray((crossed + crossed.T) / 2)
