"""Classification, compared with plain loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import itransf
from itransf.cli import run_command
from itransf.errors import DataError
from itransf.prediction.calibration import sigmoid
from itransf.prediction.classification import OWN, ClassifiedTriple, corrupt, fit_rule, judge, read_claims

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def run() -> itransf.Run:
    settings = ["model.dim=16", "training.epochs=3", "model.name=distmult"]
    return itransf.train("world", settings=settings, device="cpu", progress=False)


def test_the_rule_is_where_a_gradient_loop_ends() -> None:
    features, relations = RNG.normal(size=(150, 5)), RNG.integers(0, 3, 150)
    labels = RNG.uniform(size=150) < sigmoid(features @ [2.0, 1.0, 0.0, 0.0, -1.0] + relations - 1.0)
    rule = fit_rule(features, labels, relations, 4)
    columns = rule.expand(features)
    weights, own = np.zeros(columns.shape[1]), np.zeros((4, 1 + OWN))
    ridge = np.array([1e-6] + [0.01] * 5 + [20.0] * 15)
    for _ in range(8000):
        slope = labels - sigmoid(columns @ weights + (columns[:, : 1 + OWN] * own[relations]).sum(1))
        weights += 0.004 * (columns.T @ slope - ridge * weights)
        for relation in range(4):
            mine = relations == relation
            shrinkage = np.array([0.5] + [2.0] * OWN)
            own[relation] += 0.004 * (columns[mine, : 1 + OWN].T @ slope[mine] - shrinkage * own[relation])
    np.testing.assert_allclose(
        rule.predict(columns, relations),
        sigmoid(columns @ weights + (columns[:, : 1 + OWN] * own[relations]).sum(1)),
        atol=1e-3,
    )
    assert not rule.own[3].any()


def test_corrupted_triples_fit_and_are_unknown(run: itransf.Run) -> None:
    graph, false = run.graph, corrupt(run.graph)
    assert len(false) > 0.9 * len(graph.valid)
    assert not graph.known_in("train", "valid").contains(false).any()
    for head, relation, tail in false[:50].tolist():
        assert graph.typing.fits(head, relation, "head") or graph.typing.fits(tail, relation, "tail")


def test_true_triples_are_told_from_false_ones(run: itransf.Run) -> None:
    graph = run.graph
    false = corrupt(replace(graph, valid=graph.test))[:200]
    triples = np.concatenate([graph.test[:200], false])
    names = [(graph.entities.name(h), graph.relations.name(r), graph.entities.name(t)) for h, r, t in triples.tolist()]
    labels = [True] * 200 + [False] * len(false)
    found = judge(run.classify(names, labels))
    assert found["triples"] == len(names)
    assert found["accuracy"] > 0.75
    assert found["brier"] < min(found["brier_uncalibrated"], found["brier_constant"])
    negatives = [names[200 + place] for place in range(0, len(false), 2)]
    assert judge(run.classify(names, labels, negatives))["accuracy"] > 0.7
    with pytest.raises(DataError, match="399 labels for 400 triples; give one for each"):
        run.classify(names, labels[1:])
    few = replace(graph, valid=graph.valid[:10])
    with pytest.raises(DataError, match="too few"):
        itransf.prediction.classify_triples(run.model, few, names)


def test_labels_are_given_where_names_are_known(run: itransf.Run) -> None:
    graph = run.graph.labelled({"Spain": "Kingdom of Spain"})
    names = [("Kingdom of Spain", "borders", "France"), ("Atlantis", "borders", "France")]
    known, unknown = itransf.prediction.classify_triples(run.model, graph, names)
    assert (known.head_label, known.relation_label, known.tail_label) == ("Kingdom of Spain", "borders", "France")
    assert (unknown.head_label, unknown.tail_label) == (None, None)


def test_the_measures_are_those_of_a_count() -> None:
    rows = [
        ClassifiedTriple("a", "r", "b", True, 0.9, 2.0, label=True),
        ClassifiedTriple("a", "r", "c", True, 0.6, -1.0, label=False),
        ClassifiedTriple("a", "r", "d", False, 0.2, 0.0, label=True),
        ClassifiedTriple("x", "r", "d", None, problem="unknown entity 'x'", label=True),
    ]
    found = judge(rows)
    assert (found["triples"], found["accuracy"], found["f1"]) == (3, pytest.approx(1 / 3), 0.5)
    with pytest.raises(DataError, match="both a verdict and a label"):
        judge(rows[3:])
    assert found["brier"] == pytest.approx((0.01 + 0.36 + 0.64) / 3)
    assert found["brier_constant"] == pytest.approx(2 / 9)


def test_claims_may_have_labels(tmp_path: Path) -> None:
    path = tmp_path / "claims.tsv"
    path.write_text("a\tr\tb\t1\na\tr\tc\tfalse\n")
    assert read_claims(path)[1] == [True, False]
    path.write_text("label\thead\trelation\ttail\ntrue\ta\tr\tb\n")
    claims, labels = read_claims(path)
    assert (list(claims.names), labels) == ([("a", "r", "b")], [True])
    path.write_text("a\tr\tb\n")
    assert read_claims(path)[1] is None
    path.write_text("a\tr\tb\tperhaps\n")
    with pytest.raises(DataError, match="line 1: the label 'perhaps'"):
        read_claims(path)


def test_the_command_answers_unknown_names_in_their_row(
    run: itransf.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run.save(tmp_path / "run")
    (tmp_path / "claims.csv").write_text(
        "head,relation,tail,label\nFrance,borders,Spain,1\nFranse,borders,Spain,0\nFrance,capital_of,Japan,0\n"
    )
    assert run_command(["classify", str(tmp_path / "run"), str(tmp_path / "claims.csv")]) == 0
    shown = capsys.readouterr().out
    assert "line 3: unknown entity 'Franse'" in shown
    assert "Accuracy" in shown
    assert (
        run_command(
            [
                "classify",
                str(tmp_path / "run"),
                str(tmp_path / "claims.csv"),
                "--json",
                "--out",
                str(tmp_path / "out.csv"),
            ]
        )
        == 0
    )
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4
