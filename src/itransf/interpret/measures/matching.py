"""Matching: which rows and columns go together so that the sum of their gains is largest."""

from __future__ import annotations

import numpy as np

from itransf.data.known import Integers
from itransf.interpret.measures.statistics import Floats


def match_best(gains: Floats) -> Integers:
    """Return a column for each row, none twice, such that the sum of their gains is the largest there is.

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
