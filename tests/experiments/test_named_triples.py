from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from itransf.data.graph import Graph
from itransf.evaluation import rank_triples
from itransf.experiments.named_triples import (
    REMOVING,
    Trial,
    drop_triples,
    measure_explanations,
    plan_trials,
    train_without,
)
from itransf.run import Run


@pytest.fixture(scope="module")
def run(random_graph: Callable[..., Graph], short: Callable[..., Run]) -> Run:
    return short(random_graph(entities=40, relations=3, train=120, test=40), "itransf", "training.epochs=1")


def test_named_triples_are_those_of_the_explanation(run: Run) -> None:
    groups = plan_trials(run, 3)
    assert len(groups) == 3
    known = {tuple(triple) for triple in run.graph.train.tolist()}
    for (trial,) in groups:
        head, relation, tail = trial.triple.tolist()
        names = (run.graph.entities.name(head), run.graph.relations.name(relation), run.graph.entities.name(tail))
        found = run.explain(*names, removals=False)
        assert found.known == "test"
        ranks = rank_triples(run.model, trial.triple[None], run.graph.known)
        assert trial.before == pytest.approx(1 / ranks.ranks("tail")[0])
        told = [(triple.head, triple.relation, triple.tail) for triple in found.supporting]
        assert told == [
            (run.graph.entities.name(h), run.graph.relations.name(r), run.graph.entities.name(t))
            for h, r, t in trial.named.tolist()
        ]
        assert len(trial.named) == len(trial.random)
        named, random = ({tuple(triple) for triple in triples.tolist()} for triples in (trial.named, trial.random))
        assert named.isdisjoint(random)
        assert named | random <= known
        assert all({h, t} & {head, tail} for h, _, t in random)


def test_what_is_taken_out_for_one_of_a_group_is_not_about_another(run: Run) -> None:
    groups = plan_trials(run, 8, at_once=3)
    assert sum(map(len, groups)) == 8
    assert max(map(len, groups)) > 1
    for group in groups:
        for trial in group:
            ends = {int(trial.triple[0]), int(trial.triple[2])}
            for other in group:
                triples = [other.triple.tolist(), *other.named.tolist(), *other.random.tolist()]
                assert other is trial or not ends & {end for triple in triples for end in (triple[0], triple[2])}


def test_training_again_leaves_out_what_it_should(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def train(graph: Graph, **options: Any) -> Run:
        assert options["config"] == config
        seen.append(graph.train)
        return run

    monkeypatch.setattr("itransf.experiments.named_triples.train", train)
    config, train_triples = run.config.to_dict(), run.graph.train
    (trial,) = plan_trials(run, 1)[0]
    for condition in REMOVING:
        gone = getattr(trial, condition)
        # the same model each time
        assert train_without(run.graph, config, gone, trial.triple[None]) == pytest.approx([trial.before])
        assert seen[-1].tolist() == [triple for triple in train_triples.tolist() if triple not in gone.tolist()]
    train_without(run.graph, config, train_triples[:0], trial.triple[None], order=1)
    assert sorted(seen[-1].tolist()) == sorted(train_triples.tolist())
    assert (seen[-1] != train_triples).any()


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
    assert "named triples 0.3000, without random ones 0.1000, by training again alone 0.2000" in found.remark
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


def test_triples_are_dropped_whole() -> None:
    triples = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0]])
    assert drop_triples(triples, np.array([[0, 0, 1], [1, 1, 1]])).tolist() == [[0, 1, 1], [1, 0, 0]]
    assert drop_triples(triples, triples[:0]).tolist() == triples.tolist()
    assert Trial(triples[0], triples[1:], triples, 1.0).touched == {0, 1}
