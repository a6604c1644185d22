"""Symmetric relations: whether their head and tail attention are equal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from itransf.interpret.measures.findings import DRAWS, Finding, Floats, draw_weights, find_nothing, make_finding
from itransf.interpret.measures.gold import Gold
from itransf.interpret.measures.readings import Reading
from itransf.interpret.measures.statistics import area_under_curve, rank_evenly

MEASURE, STATISTIC = "symmetric relations", "area under the curve"


def measure_symmetry(readings: Sequence[Reading], gold: Gold, draws: int = DRAWS) -> Finding:
    """Return how well the similarity of a relation's two attention vectors tells symmetric relations from others.

    alike(r) = cos(head[r], tail[r]), attention vectors (of a model without concepts: matrices minus the identity);
    translations are left out. AUC = the share of (symmetric, other) pairs of relations of which the symmetric one
    scores higher, ties counting half. The interval is over relations and runs; the null gives the gold labels to
    random relations.
    """
    marked = gold.symmetric
    if not marked.any() or marked.all():
        return find_nothing(MEASURE, STATISTIC, "train has no symmetric relations, or no others")
    rng = np.random.default_rng(0)
    ours, theirs = (draw_weights(int(count), draws, rng) for count in (marked.sum(), (~marked).sum()))
    shuffled = rng.permuted(np.tile(marked, (draws, 1)), axis=1)
    values, resampled, null = [], [], []
    for reading in readings:
        scores = reading.compare_ends()
        once = np.ones((1, int(marked.sum()))), np.ones((1, int((~marked).sum())))
        values.append(float(area_under_curve(scores[marked], scores[~marked], once)[0]))
        resampled.append(area_under_curve(scores[marked], scores[~marked], (ours, theirs)))
        null.append(_rank_marked(scores, shuffled))
    counted = (int(marked.sum()), f"symmetric of {len(marked):,} relations")
    return make_finding(MEASURE, STATISTIC, values, np.stack(resampled, axis=1), np.mean(null, axis=0), counted)


def _rank_marked(scores: Floats, marked: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> Floats:
    """Return the area under the curve for each set of marked relations (draws, r), from sums of ranks."""
    wanted = marked.sum(axis=1)
    sums = marked @ rank_evenly(scores)
    return np.asarray((sums - wanted * (wanted + 1) / 2) / (wanted * (marked.shape[1] - wanted)))
