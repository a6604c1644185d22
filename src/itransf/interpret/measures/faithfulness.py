"""Measures that rank triples again: faithfulness of the weights, and what rare relations gain from sharing."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from itransf.data import Booleans, Floats, Integers, Triples
from itransf.evaluation import rank_triples
from itransf.interpret.ablation import reciprocal_ranks, remove_concepts, sample_evenly
from itransf.interpret.measures.reading import Reading
from itransf.interpret.measures.structure import (
    DRAWS,
    Finding,
    Measured,
    correlate_ranks,
    draw_weights,
    find_interval,
    find_p_value,
    make_finding,
    report_missing,
    resample_runs,
)
from itransf.interpret.sharing import RARE, find_origins
from itransf.models import SIDES, ConceptModel, Model
from itransf.progress import track

FAITHFULNESS, RARITY = "faithful weights", "rare relations"
RATIO, CORRELATION = "heaviest / lightest loss", "Spearman of weight and loss"
GAIN, DROP = "Hits@10 gained over {}", "Hits@10 lost without concepts of others"
LEAST_LOSS = 1e-4  # smallest mean drop of MRR that the ratio has as its denominator
MOST_TRIPLES = 100
"""Maximum number of triples of a relation to rank."""
MOST_PLACES = 8
"""Maximum number of concepts of a side to remove: the heaviest, the lightest, and others evenly between."""
TRANSFERRED = 0.5
"""A concept counts as learned from others if they account for more than this share of it."""


@dataclass(frozen=True, eq=False)
class RemovalCosts:
    """The cost of removing concepts, each array (sides, places); only sides with at least two concepts have a row.

    Attributes:
        weights: The share of attention of each concept removed, heaviest first; NaN beyond a side's own places.
        losses: The drop of mean reciprocal rank on the relation's triples.
        lightest: The place of each side's lightest concept, (sides,).
    """

    weights: Floats
    losses: Floats
    lightest: Integers


def measure_faithfulness(
    readings: Sequence[Reading], most_triples: int = MOST_TRIPLES, draws: int = DRAWS, progress: bool = False
) -> list[Finding]:
    """Measure whether attention weights predict the loss of MRR when a concept is removed from a relation side.

    For each relation side s with two concepts or more and each of its concepts i (at most MOST_PLACES, evenly from
    the heaviest to the lightest), i is removed, the side's other weights are scaled to the sum they had, and the
    relation's validation triples are ranked again (filtered, heads and tails): loss(s, i) = MRR - MRR without i. Where
    weights have signs, a relation is one side, its other weights stay as they are, and a[s, i] are absolute shares. The
    first finding is mean_s loss(s, heaviest) / mean_s loss(s, lightest), which has no value if the denominator is below
    LEAST_LOSS, the second Spearman's correlation of a[s, i] and loss(s, i) over all s and i. The interval is over sides
    and runs; the null permutes the losses within each side. Denominators of resamplings and permutations are at least
    LEAST_LOSS; if more than 2.5 % of the resamplings are below it, the interval has no upper end.

    Args:
        readings: One per run.
        most_triples: Maximum number of triples of a relation to rank, evenly chosen; 0 ranks all.
        draws: Resamplings and permutations.
        progress: Whether to show progress.
    """
    missing, costs = "", []
    if any(reading.weights is None for reading in readings):
        missing = "each side has one matrix"
    else:
        costs = [remove_each(reading, most_triples, progress) for reading in readings]
        if any(not len(cost.losses) for cost in costs):
            missing = "no relation with valid triples has two concepts on a side"
    if missing:
        return [report_missing(FAITHFULNESS, statistic, missing) for statistic in (RATIO, CORRELATION)]
    counted = (min(len(cost.losses) for cost in costs), f"{readings[0].counted}, valid triples")
    return [_find_ratio(costs, draws, counted), _find_correlation(costs, draws, counted)]


def remove_each(reading: Reading, most_triples: int, progress: bool = False) -> RemovalCosts:
    """Remove concepts from relation sides, one place of all relations at a time, and rank their triples again."""
    assert isinstance(reading.model, ConceptModel), "only concepts can be removed"
    triples = choose_triples(reading.graph.valid, most_triples)
    order, places = list_places(reading.shares)  # (s, r, m), (s, r, p)
    relations = places.shape[1]
    places[:, ~np.isin(np.arange(relations), triples[:, 1])] = -1
    counts = np.bincount(triples[:, 1], minlength=relations)
    total = int(((places >= 0) * counts[None, :, None]).sum()) + len(triples)
    losses = np.full(places.shape, np.nan)
    nothing = np.zeros(order.shape, dtype=np.bool_)
    with track("removing concepts", total, "triples", progress) as tracker:
        before = average_by_relation(remove_concepts(reading.model, nothing), reading, triples)
        tracker.advance(len(triples))
        for side, place in np.ndindex(len(places), places.shape[2]):
            touched = np.flatnonzero(places[side, :, place] >= 0)
            removed = nothing.copy()
            removed[side, touched, order[side, touched, places[side, touched, place]]] = True
            their_triples = triples[np.isin(triples[:, 1], touched)]
            after = average_by_relation(remove_concepts(reading.model, removed), reading, their_triples)
            losses[side, touched, place] = (before - after)[touched]
            tracker.advance(len(their_triples))
    kept = (places >= 0).any(axis=2)  # (s, r)
    concepts = np.take_along_axis(order, np.maximum(places, 0), axis=2)
    weights = np.where(places >= 0, np.take_along_axis(reading.shares, concepts, axis=2), np.nan)
    return RemovalCosts(weights[kept], losses[kept], (places[kept] >= 0).sum(axis=1) - 1)


def list_places(shares: Floats) -> tuple[Integers, Integers]:
    """Return each side's concepts, heaviest first (s, r, m), and which places of that order are removed (s, r, p).

    Only concepts in use count; a side with fewer than two of them has no places (-1).
    """
    order = np.argsort(-shares, axis=2, kind="stable")
    used = (shares > 0).sum(axis=2)
    tried = np.minimum(used, MOST_PLACES)
    steps = np.arange(max(int(tried.max(initial=0)), 1))
    spread = np.rint(steps * (used[:, :, None] - 1) / np.maximum(tried[:, :, None] - 1, 1)).astype(np.int64)
    return order, np.where((steps < tried[:, :, None]) & (used[:, :, None] > 1), spread, -1)


def choose_triples(triples: Triples, most: int) -> Triples:
    """Return at most `most` triples of each relation, evenly chosen."""
    rows = [sample_evenly(np.flatnonzero(triples[:, 1] == relation), most) for relation in np.unique(triples[:, 1])]
    return np.asarray(triples[np.concatenate([*rows, np.zeros(0, dtype=np.int64)])])


def average_by_relation(model: Model, reading: Reading, triples: Triples) -> Floats:
    """Return each relation's mean reciprocal rank over these triples, both sides, (r,); NaN without triples."""
    values, count = reciprocal_ranks(model, reading.graph, triples), len(reading.graph.relations)
    sums = np.bincount(triples[:, 1], weights=values, minlength=count)
    sizes = np.bincount(triples[:, 1], minlength=count)
    return np.asarray(np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan))


def _find_ratio(costs: Sequence[RemovalCosts], draws: int, counted: tuple[int, str]) -> Finding:
    """Return the ratio of mean losses; means are taken over sides, then over runs."""
    parts = [_resample_ends(cost, draws) for cost in costs]
    ends, resampled, shuffled = (np.stack(columns) for columns in zip(*parts, strict=True))
    heavy, light = ends.mean(axis=0).tolist()
    if light < LEAST_LOSS:
        return report_missing(FAITHFULNESS, RATIO, f"the heaviest costs {heavy:.4f} MRR, the lightest nothing")
    value, drawn = heavy / light, [resample_runs(resampled[:, end].T) for end in (0, 1)]
    low, most = find_interval(_divide(*drawn))
    high = None if find_interval(drawn[1])[0] < LEAST_LOSS else most
    null = _divide(*shuffled.mean(axis=0))
    remark = f"the heaviest costs {heavy:.4f} MRR, the lightest {light:.4f}; the null is a median"
    runs = tuple(above / below for above, below in ends.tolist() if below >= LEAST_LOSS)
    chance = float(np.median(null))
    return Finding(FAITHFULNESS, RATIO, value, low, high, chance, find_p_value(value, null), *counted, runs, remark)


def _resample_ends(cost: RemovalCosts, draws: int) -> tuple[Floats, Floats, Floats]:
    """Return the mean losses of the heaviest and the lightest concept: (2,), resampled and shuffled, (2, draws)."""
    rng = np.random.default_rng(0)
    sides = np.arange(len(cost.losses))
    ends = np.stack([cost.losses[:, 0], cost.losses[sides, cost.lightest]])  # (2, sides)
    resampled = ends @ draw_weights(len(sides), draws, rng).T / len(sides)
    shuffled = np.empty((2, draws))
    for draw in range(draws):
        losses = shuffle_within(cost.losses, rng)
        shuffled[:, draw] = losses[:, 0].mean(), losses[sides, cost.lightest].mean()
    return ends.mean(axis=1), resampled, shuffled


def _divide(above: Floats, below: Floats) -> Floats:
    return np.asarray(above / np.maximum(below, LEAST_LOSS))


def _find_correlation(costs: Sequence[RemovalCosts], draws: int, counted: tuple[int, str]) -> Finding:
    def measure(cost: RemovalCosts) -> Measured:
        rng, weights, losses = np.random.default_rng(0), cost.weights, cost.losses
        chosen = rng.integers(0, len(losses), (draws, len(losses)))
        resampled = np.array([_correlate(weights[rows], losses[rows]) for rows in chosen])
        null = np.array([_correlate(weights, shuffle_within(losses, rng)) for _ in range(draws)])
        return _correlate(weights, losses), resampled, null

    return make_finding(FAITHFULNESS, CORRELATION, [measure(cost) for cost in costs], counted)


def _correlate(weights: Floats, losses: Floats) -> float:
    real = ~np.isnan(weights)
    return correlate_ranks(weights[real], losses[real])


def shuffle_within(losses: Floats, rng: np.random.Generator) -> Floats:
    """Return the losses of each side in random order; NaN stays last."""
    keys = np.where(np.isnan(losses), 2.0, rng.random(losses.shape))
    return np.take_along_axis(losses, np.argsort(keys, axis=1), axis=1)


def measure_gain(readings: Sequence[Reading], baseline: Reading, draws: int = DRAWS) -> Finding:
    """Measure how much Hits@10 rare relations gain over another model, macro-averaged over relations.

    gain = mean over rare relations r of (Hits@10 of r - Hits@10 of r in the baseline) on test triples, filtered, heads
    and tails; rare is the rarest third by training triples. The interval is over triples within each relation and
    runs; the null swaps the two models triple by triple.
    """
    statistic, triples = GAIN.format(baseline.name), choose_rare(baseline)
    if not len(triples):
        return report_missing(RARITY, statistic, "rare relations have no test triples")
    theirs = count_hits(baseline.model, baseline, triples)
    ours = [count_hits(reading.model, reading, triples) for reading in readings]
    return _compare(statistic, triples, [own - theirs for own in ours], draws, "")


def measure_transfer(readings: Sequence[Reading], draws: int = DRAWS) -> Finding:
    """Measure how much Hits@10 rare relations lose without the concepts learned from other relations.

    Relation q accounts for the share n_q (a[H, q, i] + a[T, q, i]) / sum_p n_p (a[H, p, i] + a[T, p, i]) of concept i,
    where n are training triples. Every rare relation loses the concepts of which others account for more than half; its
    other weights are scaled to the sum they had, and a side that is left with nothing leaves entities where they are.
    drop = mean over rare relations of (Hits@10 - Hits@10 without) on test triples, filtered, heads and tails. The
    interval is over triples within each relation and runs; the null swaps with and without triple by triple.
    """
    if any(reading.weights is None for reading in readings):
        return report_missing(RARITY, DROP, "there are no concepts")
    triples = choose_rare(readings[0])
    if not len(triples):
        return report_missing(RARITY, DROP, "rare relations have no test triples")
    changes, held = [], []
    for reading in readings:
        assert isinstance(reading.model, ConceptModel), "seen above"
        removed, rare = find_transferred(reading), find_rare(reading)
        before, after = (
            count_hits(remove_concepts(reading.model, mask), reading, triples)
            for mask in (np.zeros_like(removed), removed)
        )
        changes.append(before - after)
        held.append(float((reading.shares * removed)[:, rare].sum() / max(len(removed) * int(rare.sum()), 1)))
    return _compare(
        DROP, triples, changes, draws, f"concepts learned from others hold {np.mean(held):.0%} of their attention"
    )


def find_rare(reading: Reading) -> Booleans:
    """Return which relations are in the rarest third, (r,)."""
    return np.asarray(reading.graph.statistics.frequency_buckets() == RARE)


def choose_rare(reading: Reading) -> Triples:
    """Return the test triples of rare relations, sorted by relation."""
    triples = reading.graph.test[find_rare(reading)[reading.graph.test[:, 1]]]
    return triples[np.argsort(triples[:, 1], kind="stable")]


def find_transferred(reading: Reading) -> Booleans:
    """Return which concepts of rare relations were learned mainly from others, (p, r, m)."""
    shares = reading.shares
    own = find_origins(shares, reading.graph.statistics.counts)  # (r, m)
    return np.asarray((shares > 0) & (1 - own > TRANSFERRED) & find_rare(reading)[:, None])


def count_hits(model: Model, reading: Reading, triples: Triples) -> Floats:
    """Return the share of each triple's two queries that are answered among the first ten, (n,)."""
    ranks = rank_triples(model, triples, reading.graph.known)
    return np.asarray(sum((ranks.ranks(side) <= 10).astype(np.float64) for side in SIDES) / len(SIDES))


def _compare(statistic: str, triples: Triples, changes: Sequence[Floats], draws: int, remark: str) -> Finding:
    """Return the finding about changes of single triples (n,), one per run, macro-averaged over relations."""
    rng = np.random.default_rng(0)
    _, places, sizes = np.unique(triples[:, 1], return_inverse=True, return_counts=True)
    shares = 1.0 / (sizes[places] * len(sizes))  # (n,) so that relations count the same
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    rows = starts[places] + rng.integers(0, sizes[places], (draws, len(triples)))  # drawn within relations
    signs = rng.integers(0, 2, (draws, len(triples))) * 2.0 - 1.0
    runs = [(float(own @ shares), own[rows] @ shares, (signs * own) @ shares) for own in changes]
    return make_finding(RARITY, statistic, runs, (len(sizes), f"relations with {len(triples):,} triples"), remark)
