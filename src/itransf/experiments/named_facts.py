"""Whether explanations name the facts that matter: training again without them.

For a prediction that the model gets right, the training facts that its explanation names as backing it are taken out
and the model is trained again with the same seed; the same with as many random facts about the same two entities; and
with none at all, the facts in another order, since trained vectors move a little whenever the order of batches does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from itransf.data.graph import Graph, Triples
from itransf.evaluation import rank_facts
from itransf.interpret.evidence import Evidence, find_supporting
from itransf.interpret.measures.findings import DRAWS, Finding, Floats, draw_weights, find_chance, find_interval
from itransf.models.translation import Translation
from itransf.run import Run, train

MEASURE, STATISTIC = "faithful explanations", "loss without named / random facts"
CONDITIONS = ("named", "random", "nothing")
NAMED = 3
"""How many facts are named, and taken out, at most."""
FOUND = 10
"""A fact is a right prediction if its tail comes among the first so many."""
LEAST_LOSS = 1e-3  # a smaller mean loss counts as this one, so that the ratio stays a number


@dataclass(frozen=True, eq=False)
class Trial:
    """A prediction and the facts that are taken out for it.

    Attributes:
        fact: Head, relation and tail, (3,).
        named: The training facts that its explanation names, (n, 3).
        random: As many others about its head or tail, (n, 3).
        before: The reciprocal rank of its tail.
    """

    fact: Triples
    named: Triples
    random: Triples
    before: float


def plan_trials(run: Run, count: int, at_once: int = 1, seed: int = 0, split: str = "test") -> list[list[Trial]]:
    """Choose right predictions and what is taken out for them, in groups that share a training.

    Args:
        run: What predicts and explains.
        count: How many predictions, at most.
        at_once: How many of them share a training; no two of those have an entity in common.
        seed: Of the choice of predictions and of random facts.
        split: Where predictions come from.
    """
    rng = np.random.default_rng(seed)
    facts = run.graph.split(split)
    ranks = rank_facts(run.model, facts, run.graph.known).ranks("tail")
    groups: list[list[Trial]] = []
    planned = 0
    for row in rng.permutation(np.flatnonzero(ranks <= FOUND)).tolist():
        if planned == count:
            break
        trial = plan_trial(run, facts[row], 1.0 / ranks[row], rng)
        if trial is None:
            continue
        planned += 1
        open_groups = (group for group in groups if len(group) < at_once and not meets(group, trial))
        group = next(open_groups, None)
        if group is None:
            groups.append([trial])
        else:
            group.append(trial)
    return groups


def meets(group: Sequence[Trial], trial: Trial) -> bool:
    """Return whether a trial has an entity in common with one of a group."""
    own = set(trial.fact[[0, 2]].tolist())
    return any(own & set(other.fact[[0, 2]].tolist()) for other in group)


def plan_trial(run: Run, fact: Triples, before: float, rng: np.random.Generator) -> Trial | None:
    """Return the facts to take out for one prediction; None where none are named or too few others are there."""
    assert isinstance(run.model, Translation), "others have no explanations"
    head, relation, tail = fact.tolist()
    found = find_supporting(run.model, run.graph, (head, relation, tail), NAMED)
    named = number_evidence(run.graph, found)
    touching = run.graph.train[np.isin(run.graph.train[:, [0, 2]], (head, tail)).any(axis=1)]
    others = drop_facts(touching, named)
    if not len(named) or len(others) < len(named):
        return None
    return Trial(fact, named, others[rng.permutation(len(others))[: len(named)]], before)


def number_evidence(graph: Graph, evidence: Sequence[Evidence]) -> Triples:
    """Return facts that were named, as numbers, (n, 3)."""
    rows = [
        (graph.entities.index(each.head), graph.relations.index(each.relation), graph.entities.index(each.tail))
        for each in evidence
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def drop_facts(facts: Triples, gone: Triples) -> Triples:
    """Return facts (n, 3) without some of them."""
    if not len(gone):
        return facts
    kept = (facts[:, None] != gone[None]).any(axis=2).all(axis=1)
    return np.asarray(facts[kept])


def train_without(run: Run, group: Sequence[Trial], condition: str, seed: int = 0) -> list[float]:
    """Train again without what a condition takes out for a group, and return each prediction's reciprocal rank."""
    facts = run.graph.train
    if condition == "nothing":
        left = facts[np.random.default_rng(seed).permutation(len(facts))]
    else:
        left = drop_facts(facts, np.concatenate([getattr(trial, condition) for trial in group]))
    device = next(run.model.parameters()).device.type
    again = train(replace(run.graph, train=left), config=run.config.to_dict(), device=device, progress=False)
    asked = np.stack([trial.fact for trial in group])
    with torch.no_grad():
        ranks = rank_facts(again.model, asked, run.graph.known).ranks("tail")
    return [float(1.0 / rank) for rank in ranks]


def describe_group(run: Run, group: Sequence[Trial], after: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Return a line for each prediction of a group, ready for JSON."""
    names = run.graph.entities.names, run.graph.relations.names

    def write(fact: Triples) -> list[str]:
        return [names[0][fact[0]], names[1][fact[1]], names[0][fact[2]]]

    return [
        {
            "fact": write(trial.fact),
            "removed": len(trial.named),
            "facts named": [write(fact) for fact in trial.named],
            "before": trial.before,
            **{condition: after[condition][place] for condition in CONDITIONS},
        }
        for place, trial in enumerate(group)
    ]


def measure_explanations(lines: Sequence[dict[str, Any]], draws: int = DRAWS) -> Finding:
    """Return how much more a prediction loses without the facts named than without random ones.

    loss(c) = mean over predictions of (1 / rank trained with nothing taken out - 1 / rank trained without the facts of
    condition c), tails, filtered; the ratio is loss(named) / max(loss(random), LEAST_LOSS). The interval is over
    predictions; the null swaps named and random facts, prediction by prediction.
    """
    table = np.array([[line["nothing"] - line["named"], line["nothing"] - line["random"]] for line in lines])
    rng = np.random.default_rng(0)
    value = float(_divide(table.mean(axis=0)[None])[0])
    drawn = draw_weights(len(table), draws, rng)
    low, high = find_interval(_divide(drawn @ table / len(table)))
    swapped = rng.integers(0, 2, (draws, len(table), 1)).astype(np.bool_)
    null = _divide(np.where(swapped, table[:, ::-1], table).mean(axis=1))
    named, random = table.mean(axis=0)
    moved = float(np.mean([line["before"] - line["nothing"] for line in lines]))
    remark = (
        f"mean reciprocal rank lost without named facts {named:.4f}, without random ones {random:.4f}, "
        f"by training again alone {moved:.4f}; the null is a median"
    )
    chance = float(np.median(null))
    p = find_chance(value, null)
    return Finding(MEASURE, STATISTIC, value, low, high, chance, p, len(table), "predictions", (value,), remark)


def _divide(losses: Floats) -> Floats:
    """Return ratios of losses (draws, 2)."""
    return np.asarray(losses[:, 0] / np.maximum(losses[:, 1], LEAST_LOSS))
