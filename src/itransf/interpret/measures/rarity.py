"""Rare relations: what sharing concepts gains them, and what they lose without what others taught."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from itransf.data.graph import Triples
from itransf.evaluation import rank_triples
from itransf.interpret.lending import RARE, share_teaching
from itransf.interpret.measures.findings import DRAWS, Finding, Floats, find_nothing, make_finding
from itransf.interpret.measures.readings import Reading, compose_model, remove_weights
from itransf.models import SIDES
from itransf.models.translation import Translation

MEASURE = "rare relations"
GAIN, DROP = "Hits@10 gained over {}", "Hits@10 lost without donors"
LENT = 0.5
"""The share of a concept that other relations must have taught for it to count as theirs."""


def measure_gain(readings: Sequence[Reading], baseline: Reading, split: str = "test", draws: int = DRAWS) -> Finding:
    """Return how much Hits@10 rare relations gain over another model, macro-averaged over relations.

    gain = mean over rare relations r of (Hits@10 of r - Hits@10 of r in the baseline), filtered, heads and tails, rare
    being the rarest third by training triples. The interval is over triples within each relation and runs; the null
    swaps the two models triple by triple.
    """
    statistic = GAIN.format(baseline.name)
    triples = choose_rare(baseline, split)
    if not len(triples):
        return find_nothing(MEASURE, statistic, f"rare relations have no {split} triples")
    theirs = count_hits(baseline.model, baseline, triples)
    ours = [count_hits(reading.model, reading, triples) for reading in readings]
    return _compare(statistic, triples, [own - theirs for own in ours], draws, "")


def measure_borrowing(readings: Sequence[Reading], split: str = "test", draws: int = DRAWS) -> Finding:
    """Return how much Hits@10 rare relations lose without the concepts that other relations taught.

    Relation q taught the share n_q (a[H, q, i] + a[T, q, i]) / sum_p n_p (a[H, p, i] + a[T, p, i]) of concept i, n
    being training triples. Every rare relation loses the concepts of which others taught more than half; its other
    weights are scaled to the sum they had, and a side that is left with nothing leaves entities where they are.
    drop = mean over rare relations of (Hits@10 - Hits@10 without), filtered, heads and tails. The interval is over
    triples within each relation and runs; the null swaps with and without triple by triple.
    """
    if any(reading.weights is None for reading in readings):
        return find_nothing(MEASURE, DROP, "there are no concepts")
    triples = choose_rare(readings[0], split)
    if not len(triples):
        return find_nothing(MEASURE, DROP, f"rare relations have no {split} triples")
    changes, removed = [], []
    for reading in readings:
        gone = find_borrowed(reading)
        assert reading.weights is not None, "seen above"
        with_all = count_hits(compose_model(reading, reading.weights), reading, triples)
        without = count_hits(compose_model(reading, remove_weights(reading, gone)), reading, triples)
        changes.append(with_all - without)
        rare = find_rare(reading)
        removed.append(float((reading.shares * gone)[:, rare].sum() / max(2 * int(rare.sum()), 1)))
    return _compare(DROP, triples, changes, draws, f"they hold {np.mean(removed):.0%} of the rare relations' attention")


def find_rare(reading: Reading) -> npt.NDArray[np.bool_]:
    """Return which relations are in the rarest third, (r,)."""
    return np.asarray(reading.graph.statistics.frequency_buckets() == RARE)


def choose_rare(reading: Reading, split: str) -> Triples:
    """Return the triples of rare relations, sorted by relation."""
    triples = reading.graph.split(split)
    triples = triples[find_rare(reading)[triples[:, 1]]]
    return triples[np.argsort(triples[:, 1], kind="stable")]


def find_borrowed(reading: Reading) -> npt.NDArray[np.bool_]:
    """Return which concepts of rare relations were taught mainly by others, (2, r, m)."""
    shares = reading.shares
    own = share_teaching(shares, reading.graph.statistics.counts)  # (r, m)
    lent = (1 - own > LENT) & find_rare(reading)[:, None]
    return np.asarray((shares > 0) & lent)


def count_hits(model: Translation, reading: Reading, triples: Triples) -> Floats:
    """Return the share of each triple's two questions that are answered among the first ten, (n,)."""
    ranks = rank_triples(model, triples, reading.graph.known)
    return np.asarray(sum((ranks.ranks(side) <= 10).astype(np.float64) for side in SIDES) / len(SIDES))


def _compare(statistic: str, triples: Triples, changes: Sequence[Floats], draws: int, remark: str) -> Finding:
    """Return the finding about changes of single triples (n,), one per run, macro-averaged over relations."""
    rng = np.random.default_rng(0)
    _, places, sizes = np.unique(triples[:, 1], return_inverse=True, return_counts=True)
    shares = 1.0 / (sizes[places] * len(sizes))  # (n,) so that relations count the same
    table = np.stack(changes)  # (runs, n)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    rows = starts[places] + rng.integers(0, sizes[places], (draws, len(triples)))  # drawn within relations
    resampled = np.stack([own[rows] @ shares for own in table], axis=1)
    signs = rng.integers(0, 2, (draws, len(triples))) * 2.0 - 1.0
    null = (signs * table.mean(axis=0)) @ shares
    counted = (len(sizes), f"relations with {len(triples):,} triples")
    return make_finding(MEASURE, statistic, (table @ shares).tolist(), resampled, null, counted, remark)
