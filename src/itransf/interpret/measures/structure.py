"""Structure read from attention alone: sparsity, inverse pairs, symmetric relations, domains, stability over seeds."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from itransf.data import THRESHOLD, Booleans, Floats, Graph, Integers, mine_structure
from itransf.interpret.measures.reading import Reading, Weights, find_top, group_alike

DRAWS = 2000
"""Resamplings behind an interval, and permutations behind a null; with these the smallest p is 1 / 2001."""
FEWEST_DRAWS, MOST_DRAWS = 20, 100_000
"""Bounds of the number of draws; all draws are held in memory at once."""


Measured = tuple[float, Floats, Floats | None]
"""One run: its value, its values under resamplings of what is counted, (draws,), and under permutations, (draws,)."""


@dataclass(frozen=True)
class Finding:
    """One figure about one model, or about several runs of it that differ by their seed.

    Attributes:
        measure: Property that is measured, such as "inverse pairs".
        statistic: The statistic, such as "average precision".
        value: The mean over the runs; None where there is nothing to measure, and `remark` says why.
        low: Lower end of the 95 % bootstrap interval, over resamplings of what is counted and of the runs.
        high: Upper end of the interval; None where it has none.
        null: The mean of the value under random permutations; None where there is no permutation null.
        p: The permutation p-value: (1 + permutations that do as well) / (1 + permutations).
        n: Number of items counted.
        counted: Description of the items.
        runs: The value of each run that has one.
        remark: A note for the reader.
    """

    measure: str
    statistic: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    null: float | None = None
    p: float | None = None
    n: int = 0
    counted: str = ""
    runs: tuple[float, ...] = ()
    remark: str = ""

    @property
    def name(self) -> str:
        """Measure and statistic, which identify the same figure of another model."""
        return f"{self.measure}, {self.statistic}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return asdict(self)


def report_missing(measure: str, statistic: str, reason: str) -> Finding:
    """Return the finding of a measure that does not apply, with the reason."""
    return Finding(measure, statistic, remark=reason)


def make_finding(
    measure: str, statistic: str, runs: Sequence[Measured], counted: tuple[int, str], remark: str = ""
) -> Finding:
    """Summarise what was measured in each run.

    Args:
        measure: Property that is measured.
        statistic: The statistic.
        runs: What was measured, one entry per run; permutations are the same in all runs, or None in all.
        counted: Number and description of the items counted.
        remark: A note for the reader.
    """
    values, resampled, nulls = zip(*runs, strict=True)
    value, chance, p = float(np.mean(values)), None, None
    if nulls[0] is not None:
        null = np.mean(nulls, axis=0)
        chance, p = float(null.mean()), find_p_value(value, null)
    low, high = find_interval(resample_runs(np.stack(resampled, axis=1)))
    return Finding(measure, statistic, value, low, high, chance, p, *counted, tuple(map(float, values)), remark)


def resample_runs(resampled: Floats) -> Floats:
    """Return the mean over runs drawn with replacement, for each resampling of what is counted (draws, runs)."""
    draws, runs = resampled.shape
    chosen = np.random.default_rng(0).integers(0, runs, (draws, runs))
    return np.asarray(np.take_along_axis(resampled, chosen, axis=1).mean(axis=1))


def find_interval(values: Floats) -> tuple[float, float]:
    """Return the middle 95 % of values."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def find_error(without: Floats) -> float:
    """Return the jackknife standard error of a statistic from its leave-one-out values (n,)."""
    return float(np.sqrt((len(without) - 1) * without.var()))


def find_p_value(value: float, null: Floats) -> float:
    """Return the share of permutations that do at least as well, the identity being one of them."""
    # Permutations that differ by rounding alone do as well.
    return float((1 + (null >= value - 1e-12).sum()) / (1 + len(null)))


def draw_weights(count: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return how often each of `count` items is drawn in bootstrap samples of that size, (draws, count)."""
    return rng.multinomial(count, np.full(count, 1.0 / count), size=draws).astype(np.float64)


def average_precision(positive: Floats, everything: Floats, weights: Floats) -> Floats:
    """Return the average precision of positives among all, for each weighting of the positives, (draws,).

    AP = sum_p w_p precision(p) / sum_p w_p, where precision(p) is the share of positives among all that score at
    least as high as p; equal scores are counted together.

    Args:
        positive: Scores of the positives, (p,).
        everything: All scores, those of the positives among them, (n,), ascending.
        weights: The weight of each positive, (draws, p).
    """
    reached = (positive[None, :] >= positive[:, None]).astype(np.float64)  # (p, p): positives at least as high as p
    negatives = len(everything) - np.searchsorted(everything, positive, side="left") - reached.sum(axis=1)  # (p,)
    found = weights @ reached.T  # (draws, p)
    precision = found / np.maximum(found + negatives, 1e-300)  # 0 / 0 where p has no weight and nothing scores above
    return np.asarray((weights * precision).sum(1) / weights.sum(1))


def area_under_curve(positive: Floats, negative: Floats, weights: tuple[Floats, Floats]) -> Floats:
    """Return how often a positive scores above a negative (ties half), for each weighting of both, (draws,).

    Args:
        positive: Scores of the positives, (p,).
        negative: Scores of the negatives, (n,).
        weights: The weights of both, (draws, p) and (draws, n).
    """
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)  # (p, n)
    ours, theirs = weights
    return np.asarray(((ours @ wins) * theirs).sum(1) / (ours.sum(1) * theirs.sum(1)))


def rank_evenly(values: Floats) -> Floats:
    """Return the rank of each value, from one for the smallest; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def correlate_ranks(left: Floats, right: Floats) -> float:
    """Return Spearman's rank correlation; 0 where one side is constant."""
    ranks = [rank_evenly(values) - (len(values) + 1) / 2 for values in (left, right)]
    size = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float((ranks[0] * ranks[1]).sum() / size) if size else 0.0


def count_together(left: Integers, right: Integers) -> Integers:
    """Return the contingency table of two groupings, (groups, groups)."""
    sizes = int(left.max(initial=-1)) + 1, int(right.max(initial=-1)) + 1
    counts = np.bincount(left * sizes[1] + right, minlength=sizes[0] * sizes[1])
    return np.asarray(counts.reshape(sizes))


def measure_purity(groups: Integers, labels: Integers) -> float:
    """Return the share of items whose label is the most frequent one in their group."""
    return float(count_together(groups, labels).max(axis=1).sum() / len(groups))


def share_information(groups: Integers, labels: Integers) -> float:
    """Return the normalized mutual information of two groupings: I(g; l) / ((H(g) + H(l)) / 2)."""
    joint = count_together(groups, labels) / len(groups)
    total = sum(_measure_entropy(joint.sum(axis=axis)) for axis in (1, 0))
    return float(2 * (total - _measure_entropy(joint.reshape(-1))) / total) if total else 0.0


def _measure_entropy(shares: Floats) -> float:
    kept = shares[shares > 0]
    return float(-(kept * np.log(kept)).sum())


def compare_groupings(left: Integers, right: Integers) -> float:
    """Return the adjusted Rand index of two groupings: 1 for equal ones, 0 on average for unrelated ones."""
    counts = count_together(left, right)
    sizes = (counts.reshape(-1), counts.sum(axis=1), counts.sum(axis=0), np.array([len(left)]))
    together, lefts, rights, everything = (float((size * (size - 1)).sum() / 2) for size in sizes)  # pairs
    expected = lefts * rights / everything if everything else 0.0
    most = (lefts + rights) / 2
    return (together - expected) / (most - expected) if most != expected else 1.0


SPARSITY, INVERSES, SYMMETRY = "sparse attention", "inverse pairs", "symmetric relations"
DOMAINS, STABILITY = "domains by top concept", "stability over seeds"
Statistic = Callable[[Integers, Integers], float]
DOMAIN_STATISTICS: dict[str, Statistic] = {"purity": measure_purity, "mutual information": share_information}
ROUNDING = 1e-4  # error of a sum of weights in single precision


@dataclass(frozen=True, eq=False)
class Gold:
    """Gold labels of relations, mined from train alone; training does not read them.

    Attributes:
        inverse: (p, 2) pairs of relations of which either holds at least THRESHOLD of the other's triples, reversed.
        symmetric: (r,) whether at least THRESHOLD of a relation's triples also occur reversed.
        domains: (r,) the number of the relation's domain, the first part of a name such as /film/film/genre; None
            where names have no such parts.
    """

    inverse: Integers
    symmetric: Booleans
    domains: Integers | None


def mine_gold(graph: Graph) -> Gold:
    """Return the gold labels of a graph, from its training triples and the names of its relations."""
    structure = mine_structure(graph, THRESHOLD)
    pairs = np.array([pair[:2] for pair in structure.inverse], dtype=np.int64).reshape(-1, 2)
    symmetric = np.zeros(len(graph.relations), dtype=np.bool_)
    symmetric[[relation for relation, _ in structure.symmetric]] = True
    names, domains = graph.relations.names, None
    if all(name.startswith("/") and name.count("/") > 1 for name in names):
        domains = np.unique([name.split("/")[1] for name in names], return_inverse=True)[1].astype(np.int64)
    return Gold(pairs, symmetric, domains)


def measure_sparsity(readings: Sequence[Reading], most: int, draws: int = DRAWS) -> Finding:
    """Measure the share of relation sides with at most `most` non-zero weights whose absolute values sum to one.

    share = |{(s, r): |{i: a[s, r, i] != 0}| <= k, |sum_i |a[s, r, i]| - 1| <= 1e-4}| / 2 |R|.
    The interval is over relation sides and runs; there is no null: sparsity is built in, not discovered.
    """
    statistic = f"at most {most} weight{'s' * (most != 1)}, sum 1"
    tables = [reading.weights for reading in readings if reading.weights is not None]
    if len(tables) < len(readings):
        return report_missing(SPARSITY, statistic, "there are no concepts")
    sides = tables[0].shape[0] * tables[0].shape[1]
    drawn = draw_weights(sides, draws, np.random.default_rng(0))

    def measure(weights: Weights) -> Measured:
        table = np.abs(weights.astype(np.float64))
        kept = ((table != 0).sum(axis=2) <= most) & (np.abs(table.sum(axis=2) - 1) <= ROUNDING)
        shares = kept.reshape(-1).astype(np.float64)
        return float(shares.mean()), drawn @ shares / sides, None

    return make_finding(SPARSITY, statistic, [measure(table) for table in tables], (sides, readings[0].counted))


def measure_inverses(readings: Sequence[Reading], gold: Gold, draws: int = DRAWS) -> Finding:
    """Measure how well the similarity of attention alone ranks inverse pairs above all other pairs of relations.

    mirror(r, q) = (cos(head[r], tail[q]) + cos(tail[r], head[q])) / 2 over unordered pairs r != q, where head[r] and
    tail[r] are attention vectors (of a model without concepts: matrices minus the identity); translations are left out.
    Where a relation has no sides, mirror(r, q) is the cosine of r's attention or vector with that of the inverse of q.
    AP = mean over gold pairs of the share of gold pairs among all that score at least as high.
    The interval is over gold pairs and runs; the null gives the gold pairs to random relations.
    """
    tables = [reading.compare(0, 1) for reading in readings]
    return _measure_pairs("average precision", tables, gold, draws, average_precision)


def measure_common(readings: Sequence[Reading], gold: Gold, draws: int = DRAWS) -> Finding:
    """Measure the share of concepts that inverse pairs have in common.

    common(r, q) = |S[r] and S[q]| / min(|S[r]|, |S[q]|), where S[r] are the concepts of r; of two sides, the mean of
    head[r] with tail[q] and tail[r] with head[q]. The value is the mean over gold pairs, the interval over gold pairs
    and runs; the null gives the gold pairs to random relations.
    """
    statistic = "concepts in common"
    if any(reading.weights is None for reading in readings):
        return report_missing(INVERSES, statistic, "there are no concepts")
    used = [(reading.shares > 0).astype(np.float64) for reading in readings]
    sizes = [np.minimum(each[0].sum(axis=1)[:, None], each[-1].sum(axis=1)) for each in used]
    tables = [each[0] @ each[-1].T / np.maximum(size, 1) for each, size in zip(used, sizes, strict=True)]
    return _measure_pairs(statistic, tables, gold, draws, lambda found, _, weights: weights @ found / weights.sum(1))


def _measure_pairs(
    statistic: str,
    tables: Sequence[Floats],
    gold: Gold,
    draws: int,
    compute: Callable[[Floats, Floats, Floats], Floats],
) -> Finding:
    """Return the finding about the gold pairs in tables (r, r) of all pairs, one per run.

    Args:
        statistic: The statistic.
        tables: The value of the head of one relation with the tail of another, (r, r).
        gold: The gold labels.
        draws: Resamplings and permutations.
        compute: Function of the values of gold pairs (p,), all values, ascending, and weights (draws, p).
    """
    if not len(gold.inverse):
        return report_missing(INVERSES, statistic, "train has no inverse pairs")
    rng = np.random.default_rng(0)
    drawn = draw_weights(len(gold.inverse), draws, rng)
    renamed = rng.permuted(np.tile(np.arange(len(gold.symmetric)), (draws, 1)), axis=1)
    left, right = gold.inverse.T
    once = np.ones((1, len(gold.inverse)))

    def measure(table: Floats) -> Measured:
        scores = (table + table.T) / 2
        everything = np.sort(scores[np.triu_indices(len(scores), k=1)])
        value, resampled = (compute(scores[left, right], everything, weights) for weights in (once, drawn))
        others = scores[renamed[:, left], renamed[:, right]]  # (draws, p)
        return float(value[0]), resampled, np.array([compute(other, everything, once)[0] for other in others])

    relations = len(gold.symmetric)
    counted = (len(left), f"gold pairs among {relations * (relations - 1) // 2:,}")
    return make_finding(INVERSES, statistic, [measure(table) for table in tables], counted)


def measure_symmetry(readings: Sequence[Reading], gold: Gold, draws: int = DRAWS) -> Finding:
    """Measure how well the similarity of a relation's two attention vectors identifies symmetric relations.

    alike(r) = cos(head[r], tail[r]), attention vectors (of a model without concepts: matrices minus the identity);
    translations are left out. Where a relation has no sides, it is the cosine with its own inverse. AUC = the share of
    (symmetric, other) pairs of relations of which the symmetric one scores higher, ties counting half. The interval is
    over relations and runs; the null gives the gold labels to random relations.
    """
    marked, statistic = gold.symmetric, "area under the curve"
    wanted = int(marked.sum())
    if not 0 < wanted < len(marked):
        return report_missing(SYMMETRY, statistic, "train has no symmetric relations, or no others")
    rng = np.random.default_rng(0)
    drawn = (draw_weights(wanted, draws, rng), draw_weights(len(marked) - wanted, draws, rng))
    shuffled = rng.permuted(np.tile(marked, (draws, 1)), axis=1)
    once = np.ones((1, wanted)), np.ones((1, len(marked) - wanted))

    def measure(scores: Floats) -> Measured:
        ends = scores[marked], scores[~marked]
        sums = shuffled @ rank_evenly(scores)  # the area from the sum of ranks
        null = (sums - wanted * (wanted + 1) / 2) / (wanted * (len(marked) - wanted))
        return float(area_under_curve(*ends, once)[0]), area_under_curve(*ends, drawn), null

    counted = (wanted, f"of {len(marked):,} relations symmetric in train")
    return make_finding(SYMMETRY, statistic, [measure(reading.compare_ends()) for reading in readings], counted)


def measure_domains(readings: Sequence[Reading], gold: Gold, groups: int, draws: int = DRAWS) -> list[Finding]:
    """Measure how well the heaviest concept of a relation side predicts its domain.

    Sides are grouped by their heaviest concept. Purity = sum over groups of the sides of the most frequent domain / all
    sides; NMI = I(group; domain) / ((H(group) + H(domain)) / 2). The domain of a side is that of its relation. A model
    without concepts has its matrices clustered into `groups` groups by direction instead. The interval is over
    relations and runs (by the jackknife: relations drawn twice would make groups look purer than they are); the null
    gives the domains to random relations, both sides of a relation together.
    """
    if gold.domains is None:
        return [report_missing(DOMAINS, name, "names of relations have no domain") for name in DOMAIN_STATISTICS]
    domains, tops = gold.domains, [find_top(reading, groups) for reading in readings]
    counted = (tops[0].size, f"{readings[0].counted} in {len(np.unique(domains))} domains")
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.tile(domains, (draws, 1)), axis=1)
    noise = rng.standard_normal(draws)

    def measure(top: Integers, compute: Statistic) -> Measured:
        sides, groups = len(top), top.reshape(-1)
        value = compute(groups, np.tile(domains, sides))
        without = [
            compute(np.delete(top, each, axis=1).reshape(-1), np.tile(np.delete(domains, each), sides))
            for each in range(len(domains))
        ]
        null = [compute(groups, np.tile(labels, sides)) for labels in shuffled]
        return value, value + noise * find_error(np.array(without)), np.array(null)

    return [
        make_finding(DOMAINS, statistic, [measure(top, compute) for top in tops], counted)
        for statistic, compute in DOMAIN_STATISTICS.items()
    ]


def measure_stability(readings: Sequence[Reading], groups: int, draws: int = DRAWS) -> list[Finding]:
    """Measure how alike relation sides are grouped from seed to seed: by their heaviest concept, and by all weights.

    The latter are the groups of average linkage on the cosines of absolute weights, as many as the first run has
    heaviest concepts.

    The adjusted Rand index of two groupings is (pairs of sides together in both - expected) / (most - expected), over
    the sides that are not alone in both; the value is its mean over all pairs of runs. The interval is over runs
    (resamplings of a single run are left out); the null shuffles the sides of one of each two runs.
    """
    by_top, by_all = "adjusted Rand index", "adjusted Rand index, all weights"
    if len(readings) < 2:
        return [report_missing(STABILITY, name, "one run alone; give runs of other seeds") for name in (by_top, by_all)]
    tops = [find_top(reading, groups).reshape(-1) for reading in readings]
    alike = [group_alike(reading, len(np.unique(tops[0]))).reshape(-1) for reading in readings]
    counted = readings[0].counted
    return [_compare_runs(by_top, tops, counted, draws), _compare_runs(by_all, alike, counted, draws)]


def _compare_runs(statistic: str, runs: Sequence[Integers], counted: str, draws: int) -> Finding:
    """Return the mean adjusted Rand index of every two runs' groups (n,)."""
    rng = np.random.default_rng(0)
    pairs = list(combinations(range(len(runs)), 2))
    indexes = np.eye(len(runs))
    null = np.zeros(draws)
    for left, right in pairs:
        is_counted = ~(is_alone(runs[left]) & is_alone(runs[right]))
        first, second = runs[left][is_counted], runs[right][is_counted]
        indexes[left, right] = indexes[right, left] = compare_groupings(first, second)
        null += [compare_groupings(first, rng.permutation(second)) for _ in range(draws)]
    drawn = draw_weights(len(runs), draws, rng)
    drawn = drawn[(drawn > 0).sum(axis=1) > 1]
    sums = np.einsum("bi,bj,ij->b", drawn, drawn, indexes) - np.einsum("bi,bi,ii->b", drawn, drawn, indexes)
    resampled = sums / (drawn.sum(axis=1) ** 2 - (drawn**2).sum(axis=1))  # means over pairs of distinct runs
    values = [float(indexes[pair]) for pair in pairs]
    sizes = np.unique(runs[0], return_counts=True)[1]
    remark = (
        f"{len(runs[0])} {counted} in {len(sizes)} groups, the largest of {sizes.max()}, "
        f"{(sizes == 1).sum()} of one (first run)"
    )
    mean: Measured = (float(np.mean(values)), resampled, null / len(pairs))
    finding = make_finding(STABILITY, statistic, [mean], (len(pairs), "pairs of runs"), remark)
    return replace(finding, runs=tuple(values))


def is_alone(groups: Integers) -> Booleans:
    """Return which items (n,) are the only one of their group, (n,)."""
    _, places, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(sizes[places] == 1)


def measure_attention(
    readings: Sequence[Reading], gold: Gold, scale: tuple[int, int], draws: int = DRAWS
) -> list[Finding]:
    """Return the findings that need no ranking, at the scale of `find_scale`."""
    return [
        measure_sparsity(readings, scale[1], draws),
        measure_inverses(readings, gold, draws),
        measure_common(readings, gold, draws),
        measure_symmetry(readings, gold, draws),
        *measure_domains(readings, gold, scale[0], draws),
    ]
