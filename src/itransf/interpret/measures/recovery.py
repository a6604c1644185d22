"""Recovery: whether the supports that a graph was grown from are found again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from itransf.data.planted import Planted
from itransf.interpret.measures.matching import match_best
from itransf.interpret.measures.statistics import DRAWS, Finding, draw_weights, make_finding, report_missing
from itransf.interpret.measures.structure import Reading
from itransf.interpret.sharing import WORTH_TELLING

MEASURE, STATISTIC = "planted supports", "F1 after best matching"
Uses = npt.NDArray[np.bool_]


def measure_recovery(
    readings: Sequence[Reading], truths: Sequence[Planted], draws: int = DRAWS, least: float = WORTH_TELLING
) -> Finding:
    """Return how well learned supports agree with the planted ones, concepts being matched as well as can be.

    A side uses the concepts with at least `least` of its attention. True concepts are matched one to one with learned
    ones such that the uses they have in common are most; with these as hits, F1 = 2 hits / (true uses + learned uses).
    The uses of unmatched learned concepts are therefore errors. The interval is over relation sides (under the
    matching of all of them) and runs; the null shuffles the sides of the learned supports and matches again.

    Args:
        readings: One per run.
        truths: What each was grown from.
        draws: Resamplings; permutations are a tenth of them, for each is matched anew.
        least: The share of a side's attention from which a concept counts as used.
    """
    if any(reading.weights is None for reading in readings):
        return report_missing(MEASURE, STATISTIC, "there are no concepts")
    rng = np.random.default_rng(0)
    values, resampled, null = [], [], []
    sides = 2 * len(readings[0].graph.relations)
    drawn = draw_weights(sides, draws, rng)
    shuffles = [rng.permutation(sides) for _ in range(max(draws // 10, 1))]
    for reading, truth in zip(readings, truths, strict=True):
        true, learned = list_true(truth), list_learned(reading, least)
        values.append(score_match(true, learned))
        hits, uses = count_hits(true, learned), true.sum(axis=1) + learned.sum(axis=1)
        resampled.append(2 * (drawn @ hits) / (drawn @ uses))
        null.append([score_match(true, learned[order]) for order in shuffles])
    counted = (sides, "relation sides")
    return make_finding(MEASURE, STATISTIC, values, np.stack(resampled, axis=1), np.mean(null, axis=0), counted)


def list_true(truth: Planted) -> Uses:
    """Return which concepts each relation side was grown from, heads then tails, (2 r, m)."""
    supports = truth.geometry.supports.reshape(-1, truth.geometry.supports.shape[2])
    uses = np.zeros((len(supports), len(truth.concepts)), dtype=np.bool_)
    rows, places = np.nonzero(supports >= 0)
    uses[rows, supports[rows, places]] = True
    return uses


def list_learned(reading: Reading, least: float) -> Uses:
    """Return which concepts each relation side uses, heads then tails, (2 r, m)."""
    shares = reading.shares
    return np.asarray((shares >= least).reshape(-1, shares.shape[2]))


def count_hits(true: Uses, learned: Uses) -> npt.NDArray[np.int64]:
    """Return how many concepts of each side are found under the best matching, (2 r,)."""
    together = true.T.astype(np.float64) @ learned  # (m true, m learned)
    if together.shape[0] <= together.shape[1]:
        rows, columns = np.arange(len(together)), match_best(together)
    else:
        rows, columns = match_best(together.T), np.arange(together.shape[1])
    return np.asarray((true[:, rows] & learned[:, columns]).sum(axis=1))


def score_match(true: Uses, learned: Uses) -> float:
    """Return F1 of learned uses under the best matching."""
    total = int(true.sum() + learned.sum())
    return float(2 * count_hits(true, learned).sum() / total) if total else 0.0
