"""Ordering rows and columns of an attention table so that what belongs together stands together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def order_rows(rows: Floats) -> list[int]:
    """Return an order in which similar rows (n, m) are neighbours.

    Groups are merged by average linkage on the cosine distance, each pair turned so that the ends that meet
    are the most alike.
    """
    if len(rows) < 3:
        return list(range(len(rows)))
    distance = cosine_distance(rows)
    return merge_groups(distance)


def cosine_distance(rows: Floats) -> Floats:
    """Return 1 - cosine of every two rows, (n, n); a row of zeros is far from all."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(lengths == 0, 1.0, lengths)
    return np.asarray(1.0 - unit @ unit.T)


def merge_groups(distance: Floats) -> list[int]:
    """Return the leaves of an average-linkage tree over (n, n) distances, in a smooth order.

    Nearest neighbours are followed until two groups are each other's nearest: n^2 comparisons in all, where
    searching every pair before each merge would take n^3. The tree is the same.
    """
    between = distance.astype(np.float64).copy()
    np.fill_diagonal(between, np.inf)
    groups: dict[int, list[int]] = {number: [number] for number in range(len(distance))}
    chain: list[int] = []
    while len(groups) > 1:
        chain = chain or [min(groups)]
        left, right = sorted(follow_nearest(between, chain))
        sizes = len(groups[left]), len(groups[right])
        joined = (between[left] * sizes[0] + between[right] * sizes[1]) / sum(sizes)
        between[left], between[:, left] = joined, joined
        between[right], between[:, right] = np.inf, np.inf
        between[left, left] = np.inf
        groups[left] = join_smoothly(groups[left], groups.pop(right), distance)
    return groups[0]


def follow_nearest(between: Floats, chain: list[int]) -> tuple[int, int]:
    """Go from the chain's end to the nearest group, and on, until two are each other's nearest; take these off."""
    while True:
        row = between[chain[-1]]
        nearest = int(np.argmin(row))
        if len(chain) > 1 and row[chain[-2]] <= row[nearest]:
            return chain.pop(), chain.pop()
        chain.append(nearest)


def join_smoothly(left: list[int], right: list[int], distance: Floats) -> list[int]:
    """Return two groups in a row, each turned so that the ends that meet are the closest."""
    choices = [(a, b) for a in (left, left[::-1]) for b in (right, right[::-1])]
    a, b = min(choices, key=lambda pair: distance[pair[0][-1], pair[1][0]])
    return a + b


def order_columns(rows: Floats) -> list[int]:
    """Return an order of the columns that follows the rows: by the mean position of a column's weight."""
    weights = np.abs(rows)
    totals = weights.sum(axis=0)
    places = np.arange(len(rows)) @ weights / np.where(totals == 0, 1.0, totals)
    order: list[int] = np.argsort(np.where(totals == 0, np.inf, places), kind="stable").tolist()
    return order
