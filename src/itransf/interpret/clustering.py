"""Average-linkage clustering: an order of rows in which similar ones are neighbors, and groups of similar rows."""

from collections.abc import Iterator

import numpy as np

from itransf.data.known import Floats, Integers


def cosine_distance(rows: Floats) -> Floats:
    """Return 1 - cosine of every two rows, (n, n); 1 for a row of zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows / np.where(lengths == 0, 1.0, lengths)
    return np.asarray(1.0 - unit @ unit.T)


def merge_nearest(distance: Floats) -> Iterator[tuple[int, int, float]]:
    """Yield the merges of average linkage over (n, n) distances: the first leaves of two groups, and their distance.

    Nearest neighbors are followed until two groups are each other's nearest: n^2 comparisons in all, where
    searching every pair before each merge would take n^3. The tree is the same; merges come in another order.
    """
    between = distance.astype(np.float64).copy()
    np.fill_diagonal(between, np.inf)
    sizes = dict.fromkeys(range(len(distance)), 1)
    chain: list[int] = []
    while len(sizes) > 1:
        chain = chain or [min(sizes)]
        left, right = sorted(_follow_nearest(between, chain))
        yield left, right, float(between[left, right])
        joined = (between[left] * sizes[left] + between[right] * sizes[right]) / (sizes[left] + sizes[right])
        between[left], between[:, left] = joined, joined
        between[right], between[:, right] = np.inf, np.inf
        between[left, left] = np.inf
        sizes[left] += sizes.pop(right)


def _follow_nearest(between: Floats, chain: list[int]) -> tuple[int, int]:
    """Extend the chain by nearest groups until two are each other's nearest; remove these from it."""
    while True:
        row = between[chain[-1]]
        nearest = int(np.argmin(row))
        if len(chain) > 1 and row[chain[-2]] <= row[nearest]:
            return chain.pop(), chain.pop()
        chain.append(nearest)


def order_leaves(distance: Floats) -> list[int]:
    """Return the leaves of an average-linkage tree over (n, n) distances, neighbors as similar as possible."""
    groups: dict[int, list[int]] = {number: [number] for number in range(len(distance))}
    for left, right, _ in merge_nearest(distance):
        groups[left] = join_groups(groups[left], groups.pop(right), distance)
    return groups.get(0, [])


def join_groups(left: list[int], right: list[int], distance: Floats) -> list[int]:
    """Join two groups, each reversed where this brings the ends that meet closer."""
    choices = [(a, b) for a in (left, left[::-1]) for b in (right, right[::-1])]
    a, b = min(choices, key=lambda pair: distance[pair[0][-1], pair[1][0]])
    return a + b


def cut_groups(distance: Floats, count: int) -> Integers:
    """Return the `count` groups that average linkage makes of rows with these distances (n, n), (n,)."""
    merges = sorted(merge_nearest(distance), key=lambda merge: merge[2])
    groups = np.arange(len(distance))
    for left, right, _ in merges[: max(len(distance) - count, 0)]:
        groups[groups == groups[right]] = groups[left]
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)
