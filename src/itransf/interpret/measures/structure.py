"""Structure read from attention alone: sparsity, inverse pairs, symmetric relations, domains, stability over seeds."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from itransf.data import THRESHOLD, Booleans, Floats, Graph, Integers, mine_structure
from itransf.errors import ConfigError
from itransf.interpret.attention import read_attention
from itransf.interpret.sharing import find_shares
from itransf.interpret.similarity import CHOICES, read_matrices
from itransf.models import SIDES, ConceptModel, DistMult, Model, Translation
from itransf.models.projection import identity_like

DRAWS = 2000
"""Resamplings behind an interval, and permutations behind a null; with these the smallest p is 1 / 2001."""
FEWEST_DRAWS, MOST_DRAWS = 20, 100_000
"""Bounds of the number of draws; all draws are held in memory at once."""


@dataclass(frozen=True)
class Finding:
    """One figure about one model, or about several runs of it that differ by their seed.

    Attributes:
        measure: Property that is measured, such as "inverse pairs".
        statistic: The statistic, such as "average precision".
        value: The mean over the runs; None where there is nothing to measure, and `remark` says why.
        low: Lower end of the 95 % bootstrap interval, over resamplings of what is counted and of the runs.
        high: Upper end of the interval.
        null: The mean of the value under random permutations; None where there is no permutation null.
        p: The permutation p-value: (1 + permutations that do as well) / (1 + permutations).
        n: Number of items counted.
        counted: Description of the items.
        runs: The value of each run.
        remark: A note for the reader.
    """

    measure: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    null: float | None
    p: float | None
    n: int
    counted: str
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
    return Finding(measure, statistic, None, None, None, None, None, 0, "", (), reason)


def make_finding(
    measure: str,
    statistic: str,
    values: Sequence[float],
    resampled: Floats,
    null: Floats | None,
    counted: tuple[int, str],
    remark: str = "",
) -> Finding:
    """Summarise the values of runs, their resamplings and their permutations.

    Args:
        measure: Property that is measured.
        statistic: The statistic.
        values: One value per run.
        resampled: The value of each run under each resampling of what is counted, (draws, runs).
        null: The mean over runs under each permutation, (draws,).
        counted: Number and description of the items counted.
        remark: A note for the reader.
    """
    value = float(np.mean(values))
    low, high = find_interval(resample_runs(resampled))
    chance = None if null is None else float(null.mean())
    p = None if null is None else find_p_value(value, null)
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
    """Return the normalised mutual information of two groupings: I(g; l) / ((H(g) + H(l)) / 2)."""
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


Weights = npt.NDArray[np.float32]
SPARSITY, INVERSES, SYMMETRY = "sparse attention", "inverse pairs", "symmetric relations"
DOMAINS, STABILITY = "domains by top concept", "stability over seeds"
DOMAIN_STATISTICS: dict[str, Callable[[Integers, Integers], float]] = {
    "purity": measure_purity,
    "mutual information": share_information,
}
ROUNDING = 1e-4  # error of a sum of weights in single precision
ROUNDS = 20  # of k-means


@dataclass(frozen=True, eq=False)
class Reading:
    """A trained model as the measures see it.

    Attributes:
        name: The name of the model in tables.
        graph: The graph it was trained on.
        model: The model.
        sides: (2, r, f) the vector by which each relation side is compared: its attention or, in a model without
            concepts, its matrix minus the identity. Where a relation has no sides, its attention or vector, and that of
            its inverse. Rows have length one, or zero where they are zero.
        weights: (p, r, m) attention of heads, then of tails, or of the relation; None in a model without concepts.
        signs: (f,) where a relation has no sides: -1 for what its inverse has with the opposite sign, else 1.
    """

    name: str
    graph: Graph
    model: Model
    sides: Weights
    weights: Weights | None = None
    signs: Weights | None = None

    @property
    def parts(self) -> int:
        """The number of parts of a relation: two sides, or one."""
        return 2 if self.signs is None else 1

    @property
    def counted(self) -> str:
        """What has attention or vectors of its own."""
        return "relation sides" if self.parts > 1 else "relations"

    @property
    def shares(self) -> Floats:
        """The absolute weights as shares of their part's sum, (p, r, m); zeros for a part without weights."""
        assert self.weights is not None, "only concepts have weights"
        return find_shares(self.weights)

    def compare(self, left: int, right: int) -> Floats:
        """Return the cosines of one side of every relation with one side of every relation, (r, r)."""
        rows = self.sides.astype(np.float64)
        return np.asarray(rows[left] @ rows[right].T)

    def compare_ends(self) -> Floats:
        """Return the cosine of each relation's two sides, (r,)."""
        rows = self.sides.astype(np.float64)
        return np.asarray((rows[0] * rows[1]).sum(axis=1))


@torch.no_grad()
def read_model(model: Model, graph: Graph, name: str) -> Reading:
    """Read a trained model.

    Raises:
        ConfigError: The model has neither concepts nor matrices.
    """
    if isinstance(model, ConceptModel):
        attention = read_attention(model, graph)
        signs = None
        if len(attention.parts) == 1:
            signs = np.ones(attention.weights.shape[2], dtype=np.float32)
            signs[list(attention.antisymmetric)] = -1
        return Reading(name, graph, model, make_sides(attention.weights, signs), attention.weights, signs)
    if isinstance(model, DistMult):
        vectors = model.relation_table().float()
        signs = model.invert(torch.ones_like(vectors[:1]))[0].cpu().numpy()
        return Reading(name, graph, model, make_sides(vectors[None].cpu().numpy(), signs), signs=signs)
    if not (isinstance(model, Translation) and model.has_matrices):
        raise ConfigError(
            f"the model {type(model).__name__} has neither concepts nor matrices to measure; give runs of {CHOICES}"
        )
    everyone = torch.arange(len(graph.relations), device=model.entities.device)
    matrices = [read_matrices(model, everyone, side) for side in SIDES]
    changes = [(each - identity_like(each)).flatten(1).float().cpu() for each in matrices]
    return Reading(name, graph, model, scale_rows(torch.stack(changes).numpy()))


def make_sides(rows: Weights, signs: Weights | None) -> Weights:
    """Return rows (p, r, f) as `Reading.sides`."""
    return scale_rows(rows if signs is None else np.concatenate([rows, rows * signs]))


def scale_rows(rows: Weights) -> Weights:
    """Return the rows of a stack (2, r, f) scaled to length one; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("srf,srf->sr", rows, rows, dtype=np.float64))[:, :, None]
    return np.asarray(rows / np.where(lengths == 0, 1.0, lengths), dtype=np.float32)


def draw_random(reading: Reading, seed: int = 0) -> Reading:
    """Return the reading with each part's weights moved to random concepts (matrices, vectors: to random entries)."""
    rng = np.random.default_rng(seed)
    moved = rng.permuted(reading.sides[: reading.parts] if reading.weights is None else reading.weights, axis=2)
    weights = None if reading.weights is None else moved
    return replace(reading, name="random", sides=make_sides(moved, reading.signs), weights=weights)


def find_top(reading: Reading, groups: int) -> Integers:
    """Return the heaviest concept of each part of each relation, (p, r).

    A model without concepts has the directions of its matrices or vectors clustered into `groups` groups (spherical
    k-means).
    """
    if reading.weights is not None:
        return np.asarray(np.abs(reading.weights).argmax(axis=2))
    rows = reading.sides[: reading.parts].reshape(-1, reading.sides.shape[2])
    return group_directions(rows, groups).reshape(reading.parts, -1)


def group_directions(rows: Weights, count: int, seed: int = 0) -> Integers:
    """Cluster vectors (n, f) into at most `count` groups of similar direction, (n,)."""
    centres = rows[np.random.default_rng(seed).permutation(len(rows))[:count]]
    groups = np.zeros(len(rows), dtype=np.int64)
    for _ in range(ROUNDS):
        groups = (rows @ centres.T).argmax(axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, groups, rows)
        filled = np.bincount(groups, minlength=len(centres)) > 0
        sums[~filled] = centres[~filled]
        centres = scale_rows(sums[None])[0]
    return np.asarray(groups)


@dataclass(frozen=True, eq=False)
class Gold:
    """Gold labels of relations, mined from train alone; no training ever reads them.

    Attributes:
        inverse: (p, 2) pairs of relations of which either holds at least THRESHOLD of the other's triples, reversed.
        symmetric: (r,) whether at least THRESHOLD of a relation's triples are there reversed, too.
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
    """Measure the share of relation sides with at most `most` non-zero weights, none negative, that sum to one.

    share = |{(s, r): |{i: a[s, r, i] != 0}| <= k, a >= 0, |sum_i a[s, r, i] - 1| <= 1e-4}| / 2 |R|. Where weights have
    signs, their absolute values are meant.
    The interval is over relation sides and runs; there is no null: sparsity is built in, not discovered.
    """
    statistic = f"at most {most} weight{'s' * (most != 1)}, sum 1"
    tables = [
        np.asarray(reading.weights if reading.signs is None else np.abs(reading.weights), dtype=np.float64)
        for reading in readings
        if reading.weights is not None
    ]
    if len(tables) < len(readings):
        return report_missing(SPARSITY, statistic, "there are no concepts")
    kept = np.stack(
        [
            ((table != 0).sum(axis=2) <= most) & (np.abs(table.sum(axis=2) - 1) <= ROUNDING) & (table >= 0).all(axis=2)
            for table in tables
        ]
    ).reshape(len(tables), -1)  # (runs, p r)
    sides = kept.shape[1]
    resampled = draw_weights(sides, draws, np.random.default_rng(0)) @ kept.T.astype(np.float64) / sides
    return make_finding(SPARSITY, statistic, kept.mean(axis=1).tolist(), resampled, None, (sides, readings[0].counted))


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
    values, resampled, null = [], [], []
    for table in tables:
        scores = (table + table.T) / 2
        everything = np.sort(scores[np.triu_indices(len(scores), k=1)])
        values.append(float(compute(scores[left, right], everything, once)[0]))
        resampled.append(compute(scores[left, right], everything, drawn))
        others = scores[renamed[:, left], renamed[:, right]]  # (draws, p)
        null.append([float(compute(other, everything, once)[0]) for other in others])
    counted = (len(gold.inverse), f"gold pairs among {len(everything):,}")
    return make_finding(INVERSES, statistic, values, np.stack(resampled, axis=1), np.mean(null, axis=0), counted)


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
    values, resampled, null = [], [], []
    for reading in readings:
        scores = reading.compare_ends()
        values.append(float(area_under_curve(scores[marked], scores[~marked], once)[0]))
        resampled.append(area_under_curve(scores[marked], scores[~marked], drawn))
        sums = shuffled @ rank_evenly(scores)  # the area from the sum of ranks
        null.append((sums - wanted * (wanted + 1) / 2) / (wanted * (len(marked) - wanted)))
    counted = (wanted, f"symmetric of {len(marked):,} relations")
    return make_finding(SYMMETRY, statistic, values, np.stack(resampled, axis=1), np.mean(null, axis=0), counted)


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
    without = [np.delete(np.arange(len(domains)), relation) for relation in range(len(domains))]
    counted = (tops[0].size, f"{readings[0].counted} in {len(np.unique(domains))} domains")
    found = []
    for statistic, compute in DOMAIN_STATISTICS.items():
        rng = np.random.default_rng(0)
        shuffled = rng.permuted(np.tile(domains, (draws, 1)), axis=1)
        values = [compute(top.reshape(-1), np.tile(domains, len(top))) for top in tops]
        errors = [
            find_error(
                np.array([compute(top[:, rows].reshape(-1), np.tile(domains[rows], len(top))) for rows in without])
            )
            for top in tops
        ]
        resampled = np.array(values) + rng.standard_normal((draws, 1)) * np.array(errors)  # (draws, runs)
        null = [np.mean([compute(top.reshape(-1), np.tile(labels, len(top))) for top in tops]) for labels in shuffled]
        found.append(make_finding(DOMAINS, statistic, values, resampled, np.array(null), counted))
    return found


def measure_stability(readings: Sequence[Reading], groups: int, draws: int = DRAWS) -> Finding:
    """Measure how alike the groupings of relation sides by their heaviest concept are from seed to seed.

    The adjusted Rand index of two groupings is (pairs of sides together in both - expected) / (most - expected), over
    the sides that are not alone in both; the value is its mean over all pairs of runs. The interval is over runs
    (resamplings of a single run are left out); the null shuffles the sides of one of each two runs.
    """
    statistic = "adjusted Rand index"
    if len(readings) < 2:
        return report_missing(STABILITY, statistic, "one run alone; give runs of other seeds")
    rng = np.random.default_rng(0)
    tops = [find_top(reading, groups).reshape(-1) for reading in readings]
    pairs = list(combinations(range(len(tops)), 2))
    indexes = np.eye(len(tops))
    null = np.zeros(draws)
    for left, right in pairs:
        counted = ~(is_alone(tops[left]) & is_alone(tops[right]))
        first, second = tops[left][counted], tops[right][counted]
        indexes[left, right] = indexes[right, left] = compare_groupings(first, second)
        null += [compare_groupings(first, rng.permutation(second)) for _ in range(draws)]
    drawn = draw_weights(len(tops), draws, rng)
    drawn = drawn[(drawn > 0).sum(axis=1) > 1]
    sums = np.einsum("bi,bj,ij->b", drawn, drawn, indexes) - np.einsum("bi,bi,ii->b", drawn, drawn, indexes)
    resampled = sums / (drawn.sum(axis=1) ** 2 - (drawn**2).sum(axis=1))  # means over pairs of distinct runs
    values = [indexes[pair] for pair in pairs]
    sizes = np.unique(tops[0], return_counts=True)[1]
    remark = (
        f"{len(tops[0])} {readings[0].counted} in {len(sizes)} groups, the largest of {sizes.max()}, "
        f"{(sizes == 1).sum()} of one"
    )
    null /= len(pairs)
    return make_finding(
        STABILITY, statistic, values, resampled[:, None], null, (len(pairs), "pairs of runs"), remark + " (first run)"
    )


def is_alone(groups: Integers) -> Booleans:
    """Return which items (n,) are the only one of their group, (n,)."""
    _, places, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return np.asarray(sizes[places] == 1)


def check_same_graph(readings: Sequence[Reading]) -> None:
    """Refuse readings of different graphs: they cannot be compared relation by relation.

    Raises:
        ConfigError: They differ.
    """
    first = readings[0]
    for other in readings[1:]:
        same = other.graph.relations.names == first.graph.relations.names
        if not same or len(other.graph.entities) != len(first.graph.entities):
            raise ConfigError(
                f"these runs were trained on different graphs, {first.graph.name} ({first.name}) and "
                f"{other.graph.name} ({other.name}); give runs on the same graph"
            )


def find_scale(reading: Reading) -> tuple[int, int]:
    """Return the number of concepts m and the support size k of a model, at which baselines are compared.

    A model without concepts has a matrix for each relation side, or a vector.
    """
    if reading.weights is None:
        return reading.parts * len(reading.graph.relations), 1
    concepts, model = reading.weights.shape[2], reading.model
    if isinstance(model, ConceptModel) and model.has_supports:
        return concepts, model.supports(model.parts[0]).shape[1]
    return concepts, concepts


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
