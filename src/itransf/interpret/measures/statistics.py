"""Statistics of rankings and of groupings, each over many weightings at once where that is what is needed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from itransf.data.sorting import Integers
from itransf.interpret.measures.findings import Floats


def average_precision(positive: Floats, everything: Floats, weights: Floats) -> Floats:
    """Return the average precision of wanted scores among all, for each weighting of the wanted ones.

    AP = sum_p w_p precision(p) / sum_p w_p, precision(p) being the share of wanted things among all that score at
    least as high as p; things of equal score are taken in together.

    Args:
        positive: Scores of what is wanted, (p,).
        everything: All scores, those of the wanted among them, (n,), ascending.
        weights: How much each wanted thing counts, (draws, p).

    Returns:
        (draws,).
    """
    reached = (positive[None, :] >= positive[:, None]).astype(np.float64)  # (p, p): who is in when p is in
    rivals = len(everything) - np.searchsorted(everything, positive, side="left") - reached.sum(axis=1)  # (p,)
    found = weights @ reached.T  # (draws, p)
    precision = found / np.maximum(found + rivals, 1e-300)  # nothing is in where neither p nor a rival counts
    return np.asarray((weights * precision).sum(1) / weights.sum(1))


def area_under_curve(positive: Floats, negative: Floats, weights: tuple[Floats, Floats]) -> Floats:
    """Return how often a wanted thing scores above another (ties half), for each weighting of both, (draws,).

    Args:
        positive: Scores of what is wanted, (p,).
        negative: Scores of the others, (n,).
        weights: How much each of them counts, (draws, p) and (draws, n).
    """
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)  # (p, n)
    ours, theirs = weights
    return np.asarray(((ours @ wins) * theirs).sum(1) / (ours.sum(1) * theirs.sum(1)))


def rank_evenly(values: Floats) -> Floats:
    """Return ranks from one, ascending along the last axis; equal values share the mean of their ranks."""
    flat = values.reshape(-1, values.shape[-1])
    ranks = np.empty_like(flat, dtype=np.float64)
    for row, line in zip(ranks, flat, strict=True):
        _, places, counts = np.unique(line, return_inverse=True, return_counts=True)
        row[:] = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks.reshape(values.shape)


def correlate_ranks(left: Floats, right: Floats) -> float:
    """Return Spearman's rank correlation: Pearson's of the ranks; 0 where one side has no order."""
    ranks = [rank_evenly(values) - (len(values) + 1) / 2 for values in (left, right)]
    size = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float((ranks[0] * ranks[1]).sum() / size) if size else 0.0


def count_together(left: Integers, right: Integers) -> Integers:
    """Return how many things are in each group of one grouping and each of another, (groups, groups)."""
    sizes = int(left.max(initial=-1)) + 1, int(right.max(initial=-1)) + 1
    counts = np.bincount(left * sizes[1] + right, minlength=sizes[0] * sizes[1])
    return np.asarray(counts.reshape(sizes))


def measure_purity(groups: Integers, labels: Integers) -> float:
    """Return the share of things whose label is the commonest in their group."""
    return float(count_together(groups, labels).max(axis=1).sum() / len(groups))


def share_information(groups: Integers, labels: Integers) -> float:
    """Return the normalised mutual information of two groupings: I(g; l) / ((H(g) + H(l)) / 2)."""
    joint = count_together(groups, labels) / len(groups)
    own = [_measure_entropy(joint.sum(axis=axis)) for axis in (1, 0)]
    total = sum(own)
    return float(2 * (total - _measure_entropy(joint.reshape(-1))) / total) if total else 0.0


def _measure_entropy(shares: npt.NDArray[np.float64]) -> float:
    kept = shares[shares > 0]
    return float(-(kept * np.log(kept)).sum())


def compare_groupings(left: Integers, right: Integers) -> float:
    """Return the adjusted Rand index of two groupings: 1 for the same, 0 on average for unrelated ones."""
    counts = count_together(left, right)
    together, lefts, rights = (
        _count_pairs(part) for part in (counts.reshape(-1), counts.sum(axis=1), counts.sum(axis=0))
    )
    everything = _count_pairs(np.array([len(left)]))
    expected = lefts * rights / everything if everything else 0.0
    most = (lefts + rights) / 2
    return (together - expected) / (most - expected) if most != expected else 1.0


def _count_pairs(sizes: Integers) -> float:
    return float((sizes * (sizes - 1)).sum() / 2)
