from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from itransf.data.graph import Graph
from itransf.evaluation import rank_facts
from itransf.experiments.named_facts import (
    REMOVING,
    Trial,
    drop_facts,
    measure_explanations,
    plan_trials,
    train_without,
)
from itransf.run import Run


@pytest.fixture(scope="module")
def run(random_graph: Callable[..., Graph], short: Callable[..., Run]) -> Run:
    return short(random_graph(entities=40, relations=3, train=120, test=40), "itransf", "training.epochs=1")


def test_named_facts_are_those_of_the_explanation(run: Run) -> None:
    groups = plan_trials(run, 3)
    assert len(groups) == 3
    known = {tuple(fact) for fact in run.graph.train.tolist()}
    for (trial,) in groups:
        head, relation, tail = trial.fact.tolist()
        names = (run.graph.entities.name(head), run.graph.relations.name(relation), run.graph.entities.name(tail))
        found = run.explain(*names, removals=False)
        assert found.known == "test"
        ranks = rank_facts(run.model, trial.fact[None], run.graph.known)
        assert trial.before == pytest.approx(1 / ranks.ranks("tail")[0])
        told = [(fact.head, fact.relation, fact.tail) for fact in found.supporting]
        assert told == [
            (run.graph.entities.name(h), run.graph.relations.name(r), run.graph.entities.name(t))
            for h, r, t in trial.named.tolist()
        ]
        assert len(trial.named) == len(trial.random)
        named, random = ({tuple(fact) for fact in facts.tolist()} for facts in (trial.named, trial.random))
        assert named.isdisjoint(random)
        assert named | random <= known
        assert all({h, t} & {head, tail} for h, _, t in random)


def test_what_is_taken_out_for_one_of_a_group_is_not_about_another(run: Run) -> None:
    groups = plan_trials(run, 8, at_once=3)
    assert sum(map(len, groups)) == 8
    assert max(map(len, groups)) > 1
    for group in groups:
        for trial in group:
            ends = {int(trial.fact[0]), int(trial.fact[2])}
            for other in group:
                facts = [other.fact.tolist(), *other.named.tolist(), *other.random.tolist()]
                assert other is trial or not ends & {end for fact in facts for end in (fact[0], fact[2])}


def test_training_again_leaves_out_what_it_should(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def train(graph: Graph, **options: Any) -> Run:
        assert options["config"] == config
        seen.append(graph.train)
        return run

    monkeypatch.setattr("itransf.experiments.named_facts.train", train)
    config, train_facts = run.config.to_dict(), run.graph.train
    (trial,) = plan_trials(run, 1)[0]
    for condition in REMOVING:
        gone = getattr(trial, condition)
        # the same model each time
        assert train_without(run.graph, config, gone, trial.fact[None]) == pytest.approx([trial.before])
        assert seen[-1].tolist() == [fact for fact in train_facts.tolist() if fact not in gone.tolist()]
    train_without(run.graph, config, train_facts[:0], trial.fact[None], order=1)
    assert sorted(seen[-1].tolist()) == sorted(train_facts.tolist())
    assert (seen[-1] != train_facts).any()


def make_lines(*groups: int) -> list[dict[str, Any]]:
    sizes = np.linspace(0.5, 1.5, len(groups)).tolist()
    return [
        {"group": group, "before": 1.0, "nothing": 0.8, "named": 0.8 - 0.3 * size, "random": 0.8 - 0.1 * size}
        for group, size in zip(groups, sizes, strict=True)
    ]


def test_the_ratio_is_net_of_training_again() -> None:
    lines = make_lines(0, 1, 2)
    found = measure_explanations(lines, draws=200)
    assert found.value == pytest.approx(3.0)
    assert (found.low, found.high) == pytest.approx((3.0, 3.0))
    assert found.p == pytest.approx(1 / 8, abs=0.06)  # all eight swaps but one do worse
    assert found.n == 3
    assert "named facts 0.3000, without random ones 0.1000, by training again alone 0.2000" in found.remark
    nothing_random = measure_explanations([{**line, "random": 0.8} for line in lines], draws=50)
    assert nothing_random.value == pytest.approx(0.3 / 0.001)


def test_predictions_that_share_a_training_count_as_one() -> None:
    lines = make_lines(7, 7, 7, 3, 3, 3)
    found = measure_explanations(lines, draws=400)
    assert found.n == 6
    assert found.p == pytest.approx(1 / 4, abs=0.08)  # two groups can be swapped in four ways
    assert "2 groups" in found.remark
    lines[0]["named"] -= 0.3
    (low, high), means = (measure_explanations(lines, draws=400).low, measure_explanations(lines).high), []
    for group in (lines[:3], lines[3:]):
        losses = np.array([[line["nothing"] - line["named"], line["nothing"] - line["random"]] for line in group])
        means.append(losses.sum(axis=0))
    assert (low, high) == pytest.approx((means[1][0] / means[1][1], means[0][0] / means[0][1]))


def test_facts_are_dropped_whole() -> None:
    facts = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0]])
    assert drop_facts(facts, np.array([[0, 0, 1], [1, 1, 1]])).tolist() == [[0, 1, 1], [1, 0, 0]]
    assert drop_facts(facts, facts[:0]).tolist() == facts.tolist()
    assert Trial(facts[0], facts[1:], facts, 1.0).touched == {0, 1}
