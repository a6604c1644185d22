from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from itransf.data.graph import Graph
from itransf.evaluation import rank_facts
from itransf.experiments.named_facts import (
    CONDITIONS,
    Trial,
    describe_group,
    drop_facts,
    measure_explanations,
    plan_trials,
    train_without,
)
from itransf.run import Run


@pytest.fixture(scope="module")
def run(random_graph: Callable[..., Graph], short: Callable[..., Run]) -> Run:
    return short(random_graph(entities=15, relations=3, train=120), "itransf", "training.epochs=1")


def test_named_facts_are_those_of_the_explanation(run: Run) -> None:
    groups = plan_trials(run, 5)
    assert len(groups) == 5
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


def test_groups_share_no_entity(run: Run) -> None:
    groups = plan_trials(run, 8, at_once=3)
    assert sum(map(len, groups)) == 8
    assert max(map(len, groups)) > 1
    for group in groups:
        ends = [end for trial in group for end in set(trial.fact[[0, 2]].tolist())]
        assert len(ends) == len(set(ends))


def test_training_again_leaves_out_what_it_should(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def train(graph: Graph, **options: Any) -> Run:
        assert options["config"] == run.config.to_dict()
        seen.append(graph.train)
        return run

    monkeypatch.setattr("itransf.experiments.named_facts.train", train)
    group = [trial for groups in plan_trials(run, 4, at_once=4) for trial in groups][:2]
    after = {condition: train_without(run, group, condition) for condition in CONDITIONS}
    everything = {tuple(fact) for fact in run.graph.train.tolist()}
    for condition, facts in zip(CONDITIONS[:2], seen, strict=False):
        gone = {tuple(fact) for trial in group for fact in getattr(trial, condition).tolist()}
        assert {tuple(fact) for fact in facts.tolist()} == everything - gone
    assert {tuple(fact) for fact in seen[2].tolist()} == everything
    assert (seen[2] != run.graph.train).any()
    for ranks in after.values():  # the same model each time
        assert ranks == pytest.approx([trial.before for trial in group])
    lines = describe_group(run, group, after)
    assert lines[0]["named"] == lines[0]["nothing"] == pytest.approx(lines[0]["before"])
    assert lines[1]["removed"] == len(group[1].named) == len(lines[1]["facts named"])


def test_the_ratio_is_net_of_training_again() -> None:
    lines = [{"before": 1.0, "nothing": 0.8, "named": 0.8 - 0.3 * x, "random": 0.8 - 0.1 * x} for x in (0.5, 1.0, 1.5)]
    found = measure_explanations(lines, draws=200)
    assert found.value == pytest.approx(3.0)
    assert (found.low, found.high) == pytest.approx((3.0, 3.0))
    assert found.p == pytest.approx(1 / 8, abs=0.06)  # all eight swaps but one do worse
    assert found.n == 3
    assert "named facts 0.3000, without random ones 0.1000, by training again alone 0.2000" in found.remark
    nothing_random = measure_explanations([{**line, "random": 0.8} for line in lines], draws=50)
    assert nothing_random.value == pytest.approx(0.3 / 0.001)


def test_facts_are_dropped_whole() -> None:
    facts = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0]])
    assert drop_facts(facts, np.array([[0, 0, 1], [1, 1, 1]])).tolist() == [[0, 1, 1], [1, 0, 0]]
    assert drop_facts(facts, facts[:0]).tolist() == facts.tolist()
    assert isinstance(Trial(facts[0], facts, facts, 1.0), Trial)
