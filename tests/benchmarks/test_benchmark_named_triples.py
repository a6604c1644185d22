from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.named_triples import (
    REMOVING,
    Trial,
    drop_triples,
    gather,
    main,
    measure_explanations,
    plan_trials,
    read_triples,
    train_without,
    write_triples,
)

from itransf.data.graph import Graph
from itransf.evaluation import rank_triples
from itransf.run import Run


@pytest.fixture
def measure(
    random_graph: Callable[..., Graph], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local_pool: type
) -> Callable[..., dict[str, Any]]:
    graph = random_graph(entities=40, relations=3, train=120)
    monkeypatch.setattr("itransf.load", lambda *_, **__: graph)
    monkeypatch.setattr("benchmarks.named_triples.ProcessPoolExecutor", local_pool)

    def run(*arguments: str) -> dict[str, Any]:
        settings = ["--settings", "training.epochs=1", "model.dim=4"]
        sizes = ["--predictions", "3", "--at-once", "2", "--controls", "2", "--jobs", "3", "--threads", "2"]
        main([*sizes, *settings, "--results", str(tmp_path), *arguments])
        found: dict[str, Any] = json.loads((tmp_path / "interpretation-named-triples.json").read_text("utf-8"))
        return found

    return run


def test_everything_is_stored_and_a_second_call_trains_nothing(
    measure: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = measure()
    assert record["complete"]
    groups = {one["group"] for one in record["predictions"]}
    done = sorted((one["condition"], one["number"]) for one in record["trainings"])
    wanted = [(condition, group) for condition in ("named", "random") for group in groups]
    assert done == sorted([("nothing", 0), ("nothing", 1), *wanted])
    assert record["finding"]["n"] == len(record["predictions"]) == 3
    assert record["settings"]["training"]["epochs"] == 1

    def refuse(*_: object) -> None:
        raise AssertionError("nothing is left to train")

    monkeypatch.setattr("benchmarks.named_triples.plan", refuse)
    monkeypatch.setattr("benchmarks.named_triples.train_without", refuse)
    assert measure() == record
    with pytest.raises(AssertionError):
        measure("--fresh")


def test_a_call_that_was_cut_off_goes_on(
    measure: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = measure()
    path = tmp_path / "interpretation-named-triples.json"
    path.write_text(json.dumps({**whole, "trainings": whole["trainings"][:3], "complete": False}), "utf-8")
    again = measure()
    assert again["complete"]
    assert again["finding"] == whole["finding"]
    assert again["predictions"] == whole["predictions"]


def test_ranks_find_their_predictions() -> None:
    record = {
        "predictions": [{"group": group, "before": 1.0} for group in (0, 1, 0)],
        "trainings": [
            {"condition": "nothing", "number": 0, "reciprocal ranks": [0.1, 0.2, 0.3]},
            {"condition": "nothing", "number": 1, "reciprocal ranks": [0.3, 0.4, 0.5]},
            {"condition": "named", "number": 0, "reciprocal ranks": [0.5, 0.7]},
            {"condition": "random", "number": 0, "reciprocal ranks": [0.6, 0.8]},
            {"condition": "named", "number": 1, "reciprocal ranks": [0.9]},
        ],
    }
    first, second = gather(record)
    assert (first["named"], first["random"], second["named"], second["random"]) == (0.5, 0.6, 0.7, 0.8)
    assert (first["nothing"], second["nothing"]) == pytest.approx((0.2, 0.4))
    assert gather({**record, "trainings": record["trainings"][2:]}) == []


def test_triples_are_written_and_read(random_graph: Callable[..., Graph]) -> None:
    graph = random_graph()
    assert (read_triples(graph, write_triples(graph, graph.train)) == graph.train).all()
    assert read_triples(graph, []).shape == (0, 3)


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

    monkeypatch.setattr("itransf.train", train)
    config, train_triples = run.config.to_dict(), run.graph.train
    (trial,) = plan_trials(run, 1)[0]
    for condition in REMOVING:
        gone = getattr(trial, condition)
        # the same model each time
        assert train_without(run.graph, config, gone, trial.triple[None])[0] == pytest.approx([trial.before])
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
    assert all(number in found.remark for number in ("0.3000", "0.1000", "0.2000", "3 groups"))
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
