"""Whether explanations name the triples that matter: training again without them.

For a prediction that the model gets right, the training triples that its explanation names as backing it are taken out
and the model is trained again with the same seed; the same with as many random triples about the same two entities; and
with none at all, the triples in another order, since trained vectors move a little whenever the order of batches does.
Predictions that have nothing to do with one another share a training; those with nothing taken out serve all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from itransf.data.graph import Graph, Triples
from itransf.evaluation import rank_triples
from itransf.interpret.evidence import Evidence, find_supporting
from itransf.interpret.measures.statistics import DRAWS, Finding, Floats, draw_weights, find_interval, find_p_value
from itransf.models.translation import Translation
from itransf.run import Run, train

MEASURE, STATISTIC = "faithful explanations", "loss without named / random triples"
REMOVING = ("named", "random")
"""Which triples are taken out."""
NAMED = 3
"""How many triples are named, and taken out, at most: as many as an explanation shows."""
FOUND = 10
"""A triple is a right prediction if its tail comes among the first so many."""
LEAST_LOSS = 1e-3  # a smaller mean loss counts as this one, so that the ratio stays a number


@dataclass(frozen=True, eq=False)
class Trial:
    """A prediction and the triples that are taken out for it.

    Attributes:
        triple: Head, relation and tail, (3,).
        named: The training triples that its explanation names, (n, 3).
        random: As many others about its head or tail, (n, 3).
        before: The reciprocal rank of its tail.
    """

    triple: Triples
    named: Triples
    random: Triples
    before: float

    @property
    def ends(self) -> set[int]:
        """The entities that the prediction is about."""
        return set(self.triple[[0, 2]].tolist())

    @property
    def touched(self) -> set[int]:
        """The entities that lose triples, and those of the prediction."""
        triples = np.concatenate((self.triple[None], self.named, self.random))
        return set(triples[:, [0, 2]].reshape(-1).tolist())


def plan_trials(run: Run, count: int, at_once: int = 1, seed: int = 0, split: str = "test") -> list[list[Trial]]:
    """Choose right predictions and what is taken out for them, in groups that share a training.

    Args:
        run: What predicts and explains.
        count: How many predictions, at most.
        at_once: How many of them share a training, at most; what is taken out for one is not about another.
        seed: Of the choice of predictions and of random triples.
        split: Where predictions come from.
    """
    rng = np.random.default_rng(seed)
    triples = run.graph.split(split)
    ranks = rank_triples(run.model, triples, run.graph.known).ranks("tail")
    groups: list[list[Trial]] = []
    for row in rng.permutation(np.flatnonzero(ranks <= FOUND)).tolist():
        if sum(map(len, groups)) == count:
            break
        trial = plan_trial(run, triples[row], 1.0 / ranks[row], rng)
        if trial is None:
            continue
        open_groups = (group for group in groups if len(group) < at_once and not meets(group, trial))
        group = next(open_groups, None)
        if group is None:
            groups.append([trial])
        else:
            group.append(trial)
    return groups


def meets(group: Sequence[Trial], trial: Trial) -> bool:
    """Return whether a trial's entities lose triples for one of a group, or the other way about."""
    return any(trial.ends & other.touched or other.ends & trial.touched for other in group)


def plan_trial(run: Run, triple: Triples, before: float, rng: np.random.Generator) -> Trial | None:
    """Return the triples to take out for one prediction; None where none are named or too few others are there."""
    assert isinstance(run.model, Translation), "others have no explanations"
    head, relation, tail = triple.tolist()
    found = find_supporting(run.model, run.graph, (head, relation, tail), NAMED)
    named = number_evidence(run.graph, found)
    touching = run.graph.train[np.isin(run.graph.train[:, [0, 2]], (head, tail)).any(axis=1)]
    others = drop_triples(touching, named)
    if not len(named) or len(others) < len(named):
        return None
    return Trial(triple, named, others[rng.permutation(len(others))[: len(named)]], before)


def number_evidence(graph: Graph, evidence: Sequence[Evidence]) -> Triples:
    """Return triples that were named, as numbers, (n, 3)."""
    rows = [
        (graph.entities.index(each.head), graph.relations.index(each.relation), graph.entities.index(each.tail))
        for each in evidence
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def drop_triples(triples: Triples, gone: Triples) -> Triples:
    """Return triples (n, 3) without some of them."""
    if not len(gone):
        return triples
    kept = (triples[:, None] != gone[None]).any(axis=2).all(axis=1)
    return np.asarray(triples[kept])


def train_without(
    graph: Graph, config: Mapping[str, Any], gone: Triples, asked: Triples, order: int = 0, device: str = "cpu"
) -> list[float]:
    """Train again without some triples and return the reciprocal rank of the tail of each triple that is asked for.

    Args:
        graph: All triples.
        config: All settings.
        gone: Training triples to take out, (n, 3).
        asked: The predictions, (n, 3).
        order: In which random order the triples are given; zero leaves them as they are.
        device: Where to train.
    """
    left = drop_triples(graph.train, gone)
    if order:
        left = left[np.random.default_rng(order).permutation(len(left))]
    again = train(replace(graph, train=left), config=config, device=device, progress=False)
    ranks = rank_triples(again.model, asked, graph.known).ranks("tail")
    return [float(1.0 / rank) for rank in ranks]


def measure_explanations(lines: Sequence[Mapping[str, Any]], draws: int = DRAWS) -> Finding:
    """Return how much more a prediction loses without the triples named than without random ones.

    loss(c) = mean over predictions of (1 / rank trained with nothing taken out - 1 / rank trained without the triples
    of condition c), tails, filtered; the ratio is loss(named) / max(loss(random), LEAST_LOSS). Predictions that share a
    training are no independent ones: the interval is over such groups, and the null swaps named and random triples,
    group by group.

    Args:
        lines: One per prediction: its `group`, and its reciprocal rank `before` and after training again with
            `nothing`, `named` or `random` triples taken out.
        draws: Resamplings and permutations.
    """
    losses = np.array([[line["nothing"] - line[condition] for condition in REMOVING] for line in lines])
    numbers, group_of = np.unique([line["group"] for line in lines], return_inverse=True)
    members = (group_of[None] == np.arange(len(numbers))[:, None]).astype(np.float64)  # (g, n)
    sizes, sums = members.sum(axis=1), members @ losses  # (g,), (g, 2)
    rng = np.random.default_rng(0)
    value = float(_divide(losses.mean(axis=0)[None])[0])
    drawn = draw_weights(len(numbers), draws, rng)  # (draws, g)
    low, high = find_interval(_divide((drawn @ sums) / (drawn @ sizes)[:, None]))
    swapped = rng.integers(0, 2, (draws, len(numbers), 1)).astype(np.bool_)
    null = _divide(np.where(swapped, sums[:, ::-1], sums).sum(axis=1) / len(lines))
    named, random = losses.mean(axis=0)
    moved = float(np.mean([line["before"] - line["nothing"] for line in lines]))
    remark = (
        f"mean reciprocal rank lost without named triples {named:.4f}, without random ones {random:.4f}, "
        f"by training again alone {moved:.4f}; {len(numbers)} groups; the null is a median"
    )
    chance, p = float(np.median(null)), find_p_value(value, null)
    return Finding(MEASURE, STATISTIC, value, low, high, chance, p, len(lines), "predictions", (value,), remark)


def _divide(losses: Floats) -> Floats:
    """Return ratios of losses (draws, 2)."""
    return np.asarray(losses[:, 0] / np.maximum(losses[:, 1], LEAST_LOSS))
