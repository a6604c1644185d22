"""Probabilities, compared with plain loops."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import itransf
from itransf.cli import run_command
from itransf.errors import CheckpointError
from itransf.prediction import calibration
from itransf.prediction.calibration import (
    Calibration,
    Solution,
    add_totals,
    choose_rivals,
    draw_examples,
    find_probabilities,
    fit_calibration,
    fit_logistic,
    list_questions,
    rate_answers,
    sigmoid,
)
from itransf.prediction.search import Search

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> itransf.Run:
    settings = ["model.dim=16", "training.epochs=3", "model.name=distmult"]
    out = tmp_path_factory.mktemp("run") / "world"
    return itransf.train("world", settings=settings, out=out, device="cpu", progress=False)


def test_the_logistic_fit_is_where_a_gradient_loop_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "STEPS", 100)
    features = np.column_stack([np.ones(400), RNG.normal(size=(400, 2))])
    groups, weights = RNG.integers(0, 5, 400), RNG.uniform(0.5, 2.0, 400)
    labels = RNG.uniform(size=400) < sigmoid(features @ [-1.0, 2.0, 0.5] + np.array([0.0, 1.0, -1.0, 0.5, 0.0])[groups])
    found = fit_logistic(features, labels, weights, groups, Solution.zero(3, 5))
    solution, offsets = np.zeros(3), np.zeros(5)
    for _ in range(20_000):
        slope = weights * (labels - sigmoid(features @ solution + offsets[groups]))
        solution += 0.005 * (features.T @ slope - 1e-3 * np.array([0.0, *solution[1:]]))
        for group in range(5):
            offsets[group] += 0.005 * (slope[groups == group].sum() - found.shrinkage * offsets[group])
    np.testing.assert_allclose(found.weights, solution, atol=1e-4)
    np.testing.assert_allclose(found.offsets, offsets, atol=1e-4)


def test_a_group_without_rows_has_the_offset_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "STEPS", 50)
    features, groups = np.ones((60, 1)), np.repeat([0, 1], 30)
    found = fit_logistic(features, RNG.uniform(size=60) < 0.3, np.ones(60), groups, Solution.zero(1, 3))
    assert found.offsets[2] == pytest.approx(0.0, abs=1e-9)


def test_probabilities_are_those_of_a_plain_loop(run: itransf.Run) -> None:
    graph, calibration = run.graph, run.calibration
    assert calibration is not None
    known = {tuple(row) for split in ("train", "valid") for row in graph.split(split).tolist()}
    triples = np.concatenate([graph.test[:20], graph.train[:3]])
    asks_head = np.arange(len(triples)) % 2 == 0
    asked = np.stack([asks_head, np.zeros_like(asks_head), ~asks_head], axis=1)
    statistics, train = graph.statistics, {tuple(row) for row in graph.train.tolist()}
    for triple, head, found in zip(
        triples.tolist(),
        asks_head.tolist(),
        find_probabilities(calibration, Search(run.model, graph), triples, asked),
        strict=True,
    ):
        side, place = ("head", 0) if head else ("tail", 2)
        questions = [[*triple[:place], each, *triple[place + 1 :]] for each in graph.typing.candidates(triple[1], side)]
        loops = graph.statistics.allows_loops[triple[1]]
        candidates = [each for each in questions if tuple(each) not in known and (loops or each[0] != each[2])]
        has_one = (statistics.one_head if head else statistics.one_tail)[triple[1]]
        if triple not in candidates or (has_one and any(tuple(each) in train for each in questions)):
            assert found is None
            continue
        with torch.no_grad():
            scores = run.model.score(*torch.tensor(candidates).T).double().numpy()
        own = candidates.index(triple)
        mass = np.exp(calibration.temperature * (scores - scores.max()))
        share = np.log(mass[own]) - np.log(np.delete(mass, own).sum())
        number = 2 * triple[1] + (side == "tail")
        logit = calibration.slopes[number] * share + calibration.offsets[number]
        logit += calibration.by_score * scores[own] + calibration.by_count * np.log(len(scores))
        logit += calibration.by_excess * max(share + 2.0, 0.0)
        assert found == pytest.approx(float(1 / (1 + np.exp(-logit))), rel=1e-4)


def test_the_fit_compares_with_all_candidates(run: itransf.Run) -> None:
    graph, search, temperature = run.graph, Search(run.model, run.graph), 1.5
    questions = list_questions(graph.valid)[::40]
    drawn = draw_examples(search, questions)
    assert drawn is not None
    examples, seen = add_totals(drawn, search, questions, temperature), 0
    shares, known = examples.find_shares(temperature), graph.known_in("train")
    for number, question in enumerate(questions.tolist()):
        side, place = ("head", 0) if question[0] < 0 else ("tail", 2)
        candidates = np.tile(question, (len(graph.typing.candidates(question[1], side)), 1))
        candidates[:, place] = graph.typing.candidates(question[1], side)
        loops = graph.statistics.allows_loops[question[1]]
        candidates = candidates[~known.contains(candidates) & (loops | (candidates[:, 0] != candidates[:, 2]))]
        with torch.no_grad():
            scores = temperature * run.model.score(*torch.tensor(candidates).T).double().numpy()
        own = temperature * examples.scores[examples.questions == number]
        expected = own - [np.logaddexp.reduce(np.delete(scores, np.abs(scores - each).argmin())) for each in own]
        np.testing.assert_allclose(shares[examples.questions == number], expected, atol=1e-4)
        seen += len(candidates) > 2 * len(own)
    assert seen > 10  # questions with more candidates than were drawn


def test_the_calibration_never_reads_test_and_is_the_same_again(run: itransf.Run) -> None:
    shuffled = replace(run.graph, test=run.graph.test[::-1] * 0)
    found, other = fit_calibration(run.model, shuffled), fit_calibration(run.model, replace(run.graph))
    assert found is not None
    assert other is not None
    assert found == other


def test_too_few_questions_give_none(run: itransf.Run) -> None:
    assert fit_calibration(run.model, replace(run.graph, valid=run.graph.valid[:20])) is None


@pytest.mark.parametrize("scores", [1, 70])
def test_a_large_graph_is_calibrated_on_fewer_questions(
    run: itransf.Run, scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "MOST_SCORES", scores * len(run.graph.entities))
    found = fit_calibration(run.model, run.graph)
    assert found is not None
    assert found.questions == max(scores, calibration.LEAST_QUESTIONS)


def test_probabilities_never_fall_with_the_score(run: itransf.Run) -> None:
    found = fit_calibration(run.model, run.graph)
    assert found is not None
    assert min(found.slopes) > 0
    assert min(found.slopes) + found.by_excess > 0
    assert found.temperature * min(found.slopes) + found.by_score > 0
    scores = np.linspace(-2.0, 2.0, 50)
    chances = found.apply(scores, found.temperature * scores - 3.0, 10, np.zeros(50, dtype=int))
    assert (np.diff(chances) >= 0).all()
    assert chances[-1] > chances[0]


def test_probabilities_grow_with_the_score_on_both_sides_of_the_knot(
    run: itransf.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.array([0.0, 1.0, -1.7, 0.0, -0.9, 0.0, 0.0, 0.0])  # constant, share, score, count, excess, others
    monkeypatch.setattr(
        calibration, "fit_logistic", lambda *_: Solution(weights, np.zeros(2 * len(run.graph.relations)))
    )
    monkeypatch.setattr(calibration, "choose_temperature", lambda _: 2.0)
    found = fit_calibration(run.model, run.graph)
    assert found is not None
    scores = np.linspace(-1.0, 1.0, 50)
    for shift in (-10.0, 2.0):  # below the knot, and above
        assert (np.diff(found.apply(scores, found.temperature * scores + shift, 10, np.zeros(50, dtype=int))) > 0).all()


@pytest.mark.parametrize("factor", [1.0, 30.0])
def test_valid_has_as_many_hits_as_expected_where_test_hides_none(run: itransf.Run, factor: float) -> None:
    """Scores of any scale are fitted: the condition of the constant of a logistic regression."""
    graph, model = replace(run.graph, test=run.graph.test[:0]), copy.deepcopy(run.model)
    with torch.no_grad():
        model.entities.mul_(factor**0.5)
    found = itransf.prediction.assess_calibration(model, graph, "valid", calibration=fit_calibration(model, graph))
    assert found["hits"][0]["expected"] == pytest.approx(found["hits"][0]["observed"], rel=0.02)


def test_expected_and_observed_hits_are_those_of_a_plain_loop(run: itransf.Run) -> None:
    few = replace(run.graph, test=run.graph.test[:15])
    found = itransf.prediction.assess_calibration(run.model, few, calibration=run.calibration)
    squares, expected, observed = [], 0.0, 0
    for relation, place, anchor in sorted(
        {(r, 0, h) for h, r, _ in few.test.tolist()} | {(r, 2, t) for _, r, t in few.test.tolist()}
    ):
        side = "tail" if place == 0 else "head"
        given = np.array(
            [
                [anchor, relation, e] if place == 0 else [e, relation, anchor]
                for e in few.typing.candidates(relation, side)
            ]
        )
        loops = few.statistics.allows_loops[relation]
        given = given[~few.known_in("train", "valid").contains(given) & (loops | (given[:, 0] != given[:, 2]))]
        asked = np.tile([side == "head", False, side == "tail"], (len(given), 1))
        chances, _ = rate_answers(run.calibration, choose_rivals(Search(run.model, few)), given, asked)
        best = np.argsort(-chances, kind="stable")[:10]
        labels = few.known_in("test").contains(given[best])
        squares += ((chances[best] - labels) ** 2).tolist()
        expected, observed = expected + chances[best].sum(), observed + int(labels.sum())
    assert found["brier"]["probability"] == pytest.approx(np.mean(squares), rel=1e-4)
    assert found["hits"][0]["expected"] == pytest.approx(expected, rel=1e-4)
    assert found["hits"][0]["observed"] == observed == sum(entry["observed"] for entry in found["hits"][1:])
    assert sum(entry["candidates"] for entry in found["bins"]) == found["candidates"] == len(squares)
    assert all(entry["low"] <= entry["true"] <= entry["high"] for entry in found["bins"])


def test_commands_give_a_triple_one_probability(
    run: itransf.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.save(tmp_path / "run")

    def call(command: str, *words: str) -> Any:
        assert run_command([command, str(tmp_path / "run"), *words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    found = call("missing", "--entity", "Portugal", "--top", "1")["triples"][0]
    head, relation, tail = triple = [found[part] for part in ("head", "relation", "tail")]
    (tmp_path / "triple.csv").write_text(",".join(triple))
    answers = [
        call("score", str(tmp_path / "triple.csv"))["triples"][0],
        call("explain", *triple),
        call("explain", *triple, "--side", "head"),
        call("show", "Portugal", "--top", "1")["predicted"][0],
        *(each.to_dict() for each in run.predict(relation=relation, candidates=[head, tail])),
        *(each.to_dict() for each in run.predict(head, tail=tail, candidates=[relation])),
    ]
    chances = [each["probability"] for each in answers if (each["head"], each["tail"]) == (head, tail)]
    assert chances == [pytest.approx(found["probability"], rel=1e-6)] * 6
    (as_tail,), (as_head,) = (
        run.predict(head, relation, candidates=[tail]),
        run.predict(None, *triple[1:], candidates=[head]),
    )
    assert as_tail.probability * as_head.probability == pytest.approx(found["probability"] ** 2)


def test_other_answers_than_the_only_one_have_no_probability(
    run: itransf.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run.predict("Portugal", "has_capital")
    assert found
    assert all(each.probability is None for each in found)
    assert all(each.probability is not None for each in run.predict("Portugal", "borders"))
    run.save(tmp_path / "run")
    asked = ["predict", str(tmp_path / "run"), "--head", "Portugal", "--relation", "has_capital", "--more"]
    assert run_command(asked) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "has one tail. Others have no probability." in shown
    assert "Prob." not in shown


def test_missing_and_score_give_the_same_probabilities(run: itransf.Run) -> None:
    found = run.missing(top=50)
    assert [each.probability for each in run.score(found)] == [each.probability for each in found]


def test_evaluate_judges_the_probabilities(
    run: itransf.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.save(tmp_path / "run")
    command = ["evaluate", str(tmp_path / "run"), "--plot", str(tmp_path / "plot.svg")]
    assert run_command(command) == 2
    assert run_command([*command, "--calibration"]) == 0
    shown = capsys.readouterr().out
    assert "Reliability" in shown
    assert "uncalibrated" in shown
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")
    assert run_command(["evaluate", str(tmp_path / "run"), "--calibration", "--plot", str(tmp_path / "plot.pdf")]) == 2


def test_the_calibration_is_stored_and_checked(run: itransf.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "copy")
    assert itransf.open(tmp_path / "copy").calibration == run.calibration
    learned = run.learn_relation("twin_of", [("France", "Spain")])
    assert learned.calibration == run.calibration
    assert run.learn_entity("new", [("new", "borders", "Spain")]).calibration == run.calibration
    triples = np.array([[0, len(run.graph.relations), 1]])
    assert find_probabilities(run.calibration, Search(learned.model, learned.graph), triples) == [None]
    run.calibration, kept = None, run.calibration
    run.save(tmp_path / "without")
    run.calibration = kept
    assert not (tmp_path / "without" / "calibration.json").exists()
    assert itransf.open(tmp_path / "without").calibration is None
    path = tmp_path / "copy" / "calibration.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "steps": [[0.0, 0.5]]}))  # as an earlier version wrote it
    itransf.run.seal(tmp_path / "copy")
    assert itransf.open(tmp_path / "copy").calibration == run.calibration
    path.write_text(json.dumps({**content, "slopes": content["slopes"] * 2}))
    with pytest.raises(CheckpointError, match=r"calibration\.json"):
        itransf.open(tmp_path / "copy")
    with pytest.raises(CheckpointError, match="another graph"):
        itransf.run.seal(tmp_path / "copy")
    path.write_text(json.dumps({"slopes": [1.0]}))
    with pytest.raises(CheckpointError, match="is no calibration"):
        itransf.run.seal(tmp_path / "copy")


def test_a_calibration_survives_json(run: itransf.Run) -> None:
    assert run.calibration is not None
    assert Calibration.from_dict(json.loads(json.dumps(run.calibration.to_dict()))) == run.calibration


def test_a_calibration_of_one_slope_is_read(run: itransf.Run) -> None:
    assert run.calibration is not None
    content = run.calibration.to_dict()
    del content["by_excess"]
    assert Calibration.from_dict(content) == replace(run.calibration, by_excess=0.0)
