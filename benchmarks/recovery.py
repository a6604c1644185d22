"""Recovery of planted supports: how well learned supports agree with those a graph was generated from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from itransf.data.planted import Planted
from itransf.interpret.measures.reading import Reading
from itransf.interpret.measures.structure import DRAWS, Finding, draw_weights, make_finding, report_missing

MEASURE, STATISTIC = "planted supports", "F1 after best matching"
USED = 0.05
"""Attention from which a relation side counts as using a concept."""
Uses = npt.NDArray[np.bool_]


def measure_recovery(readings: Sequence[Reading], truths: Sequence[Planted], draws: int = DRAWS) -> Finding:
    """Return the F1 of learned supports against the planted ones under the best matching of concepts.

    True concepts are matched one to one with learned ones such that the number of common uses, the hits, is largest;
    F1 = 2 hits / (true uses + learned uses), so that uses of unmatched learned concepts are errors. The interval is
    over relation sides (with the matching fixed) and runs; the null shuffles the sides of the learned supports and
    matches again.

    Args:
        readings: One per run.
        truths: The planted concepts of each run's graph.
        draws: Resamplings; there are a tenth as many permutations, as each is matched again.
    """
    if any(reading.weights is None for reading in readings):
        return report_missing(MEASURE, STATISTIC, "there are no concepts")
    rng = np.random.default_rng(0)
    runs = []
    sides = 2 * len(readings[0].graph.relations)
    drawn = draw_weights(sides, draws, rng)
    shuffles = [rng.permutation(sides) for _ in range(max(draws // 10, 1))]
    for reading, truth in zip(readings, truths, strict=True):
        true, learned = list_true(truth), (reading.shares >= USED).reshape(sides, -1)
        hits, uses = count_hits(true, learned), true.sum(axis=1) + learned.sum(axis=1)
        null = np.array([score_match(true, learned[order]) for order in shuffles])
        runs.append((score_match(true, learned), 2 * (drawn @ hits) / (drawn @ uses), null))
    return make_finding(MEASURE, STATISTIC, runs, (sides, "relation sides"))


def list_true(truth: Planted) -> Uses:
    """Return which concepts each relation side was generated from, heads then tails, (2 r, m)."""
    supports = truth.geometry.supports.reshape(-1, truth.geometry.supports.shape[2])
    uses = np.zeros((len(supports), len(truth.geometry.concepts)), dtype=np.bool_)
    rows, places = np.nonzero(supports >= 0)
    uses[rows, supports[rows, places]] = True
    return uses


def count_hits(true: Uses, learned: Uses) -> npt.NDArray[np.int64]:
    """Return how many concepts of each side are recovered under the best matching, (2 r,)."""
    together = true.T.astype(np.float64) @ learned  # (m true, m learned)
    if together.shape[0] <= together.shape[1]:
        rows, columns = np.arange(len(together)), match_best(together)
    else:
        rows, columns = match_best(together.T), np.arange(together.shape[1])
    return np.asarray((true[:, rows] & learned[:, columns]).sum(axis=1))


def score_match(true: Uses, learned: Uses) -> float:
    """Return the F1 of learned uses under the best matching."""
    total = int(true.sum() + learned.sum())
    return float(2 * count_hits(true, learned).sum() / total) if total else 0.0


def match_best(gains: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return a different column for each row, such that the sum of their gains is largest.

    The Hungarian method with shortest augmenting paths: rows enter one at a time, and potentials of rows and columns
    keep every reduced cost at zero or above.

    Args:
        gains: (n, c), with n at most c.
    """
    rows, columns = gains.shape
    costs = gains.max(initial=0.0) - gains
    row_potential, column_potential = np.zeros(rows), np.zeros(columns)
    owners = np.full(columns, -1, dtype=np.int64)
    for row in range(rows):
        distances, previous = costs[row] - row_potential[row] - column_potential, np.full(columns, -1)
        done = np.zeros(columns, dtype=np.bool_)
        reached = {row: 0.0}
        while True:
            nearest = int(np.argmin(np.where(done, np.inf, distances)))
            length = float(distances[nearest])
            done[nearest] = True
            if owners[nearest] < 0:
                break
            owner = int(owners[nearest])
            reached[owner] = length
            through = length + costs[owner] - row_potential[owner] - column_potential
            shorter = ~done & (through < distances)
            distances[shorter], previous[shorter] = through[shorter], nearest
        for other, at in reached.items():
            row_potential[other] += length - at
        column_potential[done] += distances[done] - length
        while previous[nearest] >= 0:
            owners[nearest] = owners[previous[nearest]]
            nearest = int(previous[nearest])
        owners[nearest] = row
    found = np.zeros(rows, dtype=np.int64)
    found[owners[owners >= 0]] = np.flatnonzero(owners >= 0)
    return found
