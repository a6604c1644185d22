"""Faithfulness: whether the concepts that a relation weighs most are those it would miss most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from itransf.data.graph import Triples
from itransf.data.sorting import Integers
from itransf.evaluation import rank_triples
from itransf.interpret.ablation import sample_evenly
from itransf.interpret.measures.findings import (
    DRAWS,
    Finding,
    Floats,
    draw_weights,
    find_chance,
    find_interval,
    find_nothing,
    make_finding,
    mix_runs,
)
from itransf.interpret.measures.readings import Reading, compose_model, remove_weights
from itransf.interpret.measures.statistics import correlate_ranks
from itransf.models import SIDES
from itransf.models.translation import Translation
from itransf.progress import Tracker, track

MEASURE = "faithful weights"
RATIO, CORRELATION = "heaviest / lightest loss", "Spearman of weight and loss"
LEAST_LOSS = 1e-4  # a smaller mean loss of MRR counts as this one, so that the ratio stays a number
MOST_TRIPLES = 100
"""The most triples of a relation that are ranked."""
MOST_PLACES = 8
"""The most concepts of a side that are taken away: the heaviest, the lightest, and others evenly between."""


@dataclass(frozen=True, eq=False)
class Removals:
    """What removing concepts cost, each (sides, places); a side is one of a relation with at least two concepts.

    Attributes:
        weights: The share of attention of each concept removed, heaviest first; NaN beyond a side's own places.
        losses: The mean reciprocal rank that the relation's triples lost.
        lightest: The place of each side's lightest concept, (sides,).
    """

    weights: Floats
    losses: Floats
    lightest: Integers


def measure_faithfulness(
    readings: Sequence[Reading],
    split: str = "valid",
    most_triples: int = MOST_TRIPLES,
    draws: int = DRAWS,
    progress: bool = False,
) -> tuple[Finding, Finding]:
    """Return whether weights tell what removing a concept from a relation side costs.

    For each relation side s with two concepts or more and each of its concepts i (at most MOST_PLACES, evenly from
    the heaviest to the lightest), i is taken away, the side's other weights are scaled to the sum they had, and the
    relation's triples are ranked again (filtered, heads and tails): loss(s, i) = MRR - MRR without i. The first finding
    is mean_s loss(s, heaviest) / max(mean_s loss(s, lightest), LEAST_LOSS), the second Spearman's correlation of
    a[s, i] and loss(s, i) over all s and i. The interval is over sides and runs; the null permutes the losses within
    each side.

    Args:
        readings: One per run.
        split: Whose triples are ranked.
        most_triples: The most triples ranked of a relation, evenly chosen; zero takes all.
        draws: Resamplings and permutations.
        progress: Whether to show it.
    """
    nothing = "each side has one matrix" if any(reading.weights is None for reading in readings) else ""
    found = [] if nothing else [remove_each(reading, split, most_triples, progress) for reading in readings]
    if not nothing and any(not len(removals.losses) for removals in found):
        nothing = f"no relation with {split} triples has two concepts on a side"
    if nothing:
        return find_nothing(MEASURE, RATIO, nothing), find_nothing(MEASURE, CORRELATION, nothing)
    counted = (min(len(removals.losses) for removals in found), f"relation sides, {split} triples")
    return _find_ratio(found, draws, counted), _find_correlation(found, draws, counted)


def remove_each(reading: Reading, split: str, most_triples: int, progress: bool) -> Removals:
    """Take concepts away from relation sides, one place of all relations at a time, and rank their triples again."""
    assert reading.weights is not None, "only concepts can be taken away"
    triples = choose_triples(reading.graph.split(split), most_triples)
    order, places = list_places(reading.shares)  # (2, r, m), (2, r, p)
    is_ranked = np.isin(np.arange(places.shape[1]), triples[:, 1])
    places[:, ~is_ranked] = -1
    counts = np.bincount(triples[:, 1], minlength=places.shape[1])
    total = int(((places >= 0) * counts[None, :, None]).sum()) + len(triples)
    losses = np.full(places.shape, np.nan)
    with track("taking concepts away", total, "triples", progress) as tracker:
        before = average_ranks(compose_model(reading, reading.weights), reading, triples, tracker)
        for side in range(len(SIDES)):
            for place in range(places.shape[2]):
                touched = np.flatnonzero(places[side, :, place] >= 0)
                gone = np.zeros(reading.weights.shape, dtype=np.bool_)
                gone[side, touched, order[side, touched, places[side, touched, place]]] = True
                model = compose_model(reading, remove_weights(reading, gone))
                after = average_ranks(model, reading, triples[np.isin(triples[:, 1], touched)], tracker)
                losses[side, touched, place] = (before - after)[touched]
    return gather_removals(reading.shares, order, places, losses)


def list_places(shares: Floats) -> tuple[Integers, Integers]:
    """Return each side's concepts, heaviest first (2, r, m), and which places of that order are tried (2, r, p).

    Only concepts in use count; a side with fewer than two of them has no places (-1).
    """
    order = np.argsort(-shares, axis=2, kind="stable")
    used = (shares > 0).sum(axis=2)
    tried = np.minimum(used, MOST_PLACES)
    steps = np.arange(max(int(tried.max(initial=0)), 1))
    spread = np.rint(steps * (used[:, :, None] - 1) / np.maximum(tried[:, :, None] - 1, 1)).astype(np.int64)
    return order, np.where((steps < tried[:, :, None]) & (used[:, :, None] > 1), spread, -1)


def gather_removals(shares: Floats, order: Integers, places: Integers, losses: Floats) -> Removals:
    """Return what was measured, side by side."""
    kept = (places >= 0).any(axis=2)  # (2, r)
    concepts = np.take_along_axis(order, np.maximum(places, 0), axis=2)
    weights = np.where(places >= 0, np.take_along_axis(shares, concepts, axis=2), np.nan)
    return Removals(weights[kept], losses[kept], (places[kept] >= 0).sum(axis=1) - 1)


def choose_triples(triples: Triples, most: int) -> Triples:
    """Return at most so many triples of each relation, evenly chosen."""
    rows = [sample_evenly(np.flatnonzero(triples[:, 1] == relation), most) for relation in np.unique(triples[:, 1])]
    return np.asarray(triples[np.concatenate([*rows, np.zeros(0, dtype=np.int64)])])


def average_ranks(model: Translation, reading: Reading, triples: Triples, tracker: Tracker) -> Floats:
    """Return each relation's mean reciprocal rank over these triples, both sides, (r,); NaN without triples."""
    ranks = rank_triples(model, triples, reading.graph.known)
    values = sum(1.0 / ranks.ranks(side) for side in SIDES) / len(SIDES)
    count = len(reading.graph.relations)
    sums = np.bincount(triples[:, 1], weights=values, minlength=count)
    sizes = np.bincount(triples[:, 1], minlength=count)
    tracker.advance(len(triples))
    return np.asarray(np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan))


def _find_ratio(found: Sequence[Removals], draws: int, counted: tuple[int, str]) -> Finding:
    """Return the ratio of mean losses, the means being taken over sides and then over runs."""
    parts = [_resample_ends(removals, draws) for removals in found]
    ends, resampled, shuffled = (np.stack(columns) for columns in zip(*parts, strict=True))
    heavy, light = ends.mean(axis=0)
    value = float(_divide(ends[:, 0].mean(keepdims=True), ends[:, 1].mean(keepdims=True))[0])
    low, high = find_interval(_divide(*(mix_runs(resampled[:, end].T) for end in (0, 1))))
    null = _divide(*shuffled.mean(axis=0))
    remark = f"the heaviest costs {heavy:.4f} MRR, the lightest {light:.4f}; the null is a median"
    runs = tuple(_divide(ends[:, 0], ends[:, 1]).tolist())
    chance = float(np.median(null))
    return Finding(MEASURE, RATIO, value, low, high, chance, find_chance(value, null), *counted, runs, remark)


def _resample_ends(removals: Removals, draws: int) -> tuple[Floats, Floats, Floats]:
    """Return the mean losses with the heaviest and the lightest concept: (2,), resampled and shuffled, (2, draws)."""
    rng = np.random.default_rng(0)
    sides = np.arange(len(removals.losses))
    ends = np.stack([removals.losses[:, 0], removals.losses[sides, removals.lightest]])  # (2, sides)
    resampled = ends @ draw_weights(len(sides), draws, rng).T / len(sides)
    shuffled = np.empty((2, draws))
    for draw in range(draws):
        losses = shuffle_within(removals.losses, rng)
        shuffled[:, draw] = losses[:, 0].mean(), losses[sides, removals.lightest].mean()
    return ends.mean(axis=1), resampled, shuffled


def _divide(above: Floats, below: Floats) -> Floats:
    """Return ratios of losses."""
    return np.asarray(above / np.maximum(below, LEAST_LOSS))


def _find_correlation(found: Sequence[Removals], draws: int, counted: tuple[int, str]) -> Finding:
    values, resampled, null = [], [], []
    for removals in found:
        rng = np.random.default_rng(0)
        values.append(_correlate(removals.weights, removals.losses))
        chosen = rng.integers(0, len(removals.losses), (draws, len(removals.losses)))
        resampled.append([_correlate(removals.weights[rows], removals.losses[rows]) for rows in chosen])
        null.append([_correlate(removals.weights, shuffle_within(removals.losses, rng)) for _ in range(draws)])
    return make_finding(MEASURE, CORRELATION, values, np.stack(resampled, axis=1), np.mean(null, axis=0), counted)


def _correlate(weights: Floats, losses: Floats) -> float:
    real = ~np.isnan(weights)
    return correlate_ranks(weights[real], losses[real])


def shuffle_within(losses: npt.NDArray[np.float64], rng: np.random.Generator) -> Floats:
    """Return the losses of each side in random order; what is no number stays last."""
    keys = np.where(np.isnan(losses), 2.0, rng.random(losses.shape))
    return np.take_along_axis(losses, np.argsort(keys, axis=1), axis=1)
