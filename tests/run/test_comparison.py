from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import itransf
from itransf.data.graph import Graph
from itransf.errors import ConfigError, DataError, MissingExtraError
from itransf.evaluation import RuleList, blend_with_rules, evaluate
from itransf.run.comparison import COMPARED, Comparison, Row, compare, summarise

if TYPE_CHECKING:
    from conftest import GraphMaker

QUICK = ["training.epochs=2", "model.dim=4", "training.batch_size=16", "validation.every=1", "regularizer.weight=0.0"]


@pytest.fixture(scope="module")
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=40, valid=8, test=8)


@pytest.fixture(scope="module")
def made(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    """Return a comparison with rules, and its folder."""
    folder = tmp_path_factory.mktemp("comparison")
    options = {"rules": True, "seeds": 2, "out": folder, "device": "cpu", "progress": False}
    return compare(graph, ["transe", "distmult"], QUICK, **options), folder


def find_row(found: Comparison, name: str) -> Row:
    (row,) = (row for row in found.rows if row.name == name)
    return row


@pytest.mark.parametrize("name", ["transe", "distmult"])
def test_figures_are_the_means_of_what_evaluate_returns_for_the_stored_runs(
    made: tuple[Comparison, Path], graph: Graph, name: str
) -> None:
    found, folder = made
    runs = [itransf.open(folder / name / f"seed-{seed}", device="cpu") for seed in (0, 1)]
    assert [(run.config.name, run.config.seed) for run in runs] == [(name, 0), (name, 1)]
    row, rules = find_row(found, name), RuleList(runs[0].graph)
    blends = [blend_with_rules(run.model, run.graph, rules) for run in runs]
    for measured, models in ((row, [run.model for run in runs]), (find_row(found, f"{name} with rules"), blends)):
        without_test = replace(graph, test=graph.test[:0])
        for split, figures, known in (("test", measured.test, graph), ("valid", measured.valid, without_test)):
            expected = [evaluate(model, known, split) for model in models]
            assert figures == pytest.approx({key: np.mean([each[key] for each in expected]) for key in COMPARED})
        assert all(low <= measured.test[key] <= high for key, (low, high) in measured.interval.items())
    assert row.seconds == pytest.approx(np.mean([run.record.seconds for run in runs]))
    assert row.parameters == runs[0].info()["parameters"]
    assert find_row(found, f"{name} with rules").parameters == row.parameters + 3


def test_rules_alone_are_ranked_by_the_same_protocol(made: tuple[Comparison, Path], graph: Graph) -> None:
    row = find_row(made[0], "rules alone")
    expected = evaluate(RuleList(graph), graph)
    assert row.test == pytest.approx({key: expected[key] for key in COMPARED})
    assert (row.parameters, row.uses) == (0, "rules")


def test_what_is_trained_is_not_trained_again(made: tuple[Comparison, Path], graph: Graph) -> None:
    before, folder = made
    ids = [itransf.open(folder / "transe" / f"seed-{seed}").record.id for seed in (0, 1)]
    again = compare(graph, ["transe"], QUICK, seeds=2, out=folder, device="cpu", progress=False)
    assert again.rows == (find_row(before, "transe"),)  # the seconds, too
    assert [itransf.open(folder / "transe" / f"seed-{seed}").record.id for seed in (0, 1)] == ids
    other = compare(graph, ["transe"], [*QUICK, "loss.margin=7.0"], out=folder, device="cpu", progress=False)
    assert "other settings" in other.rows[0].problem
    assert json.loads((folder / "comparison.json").read_text(encoding="utf-8"))["rows"]  # not those of the failure


def test_the_best_on_valid_is_first_and_is_stored(graph: Graph, tmp_path: Path) -> None:
    found = compare(graph, ["transe", "distmult"], QUICK, out=tmp_path, device="cpu", progress=False)
    scores = [row.valid["mrr"] for row in found.rows]
    assert scores == sorted(scores, reverse=True)
    assert json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(found.to_dict())
    )
    text = (tmp_path / "comparison.md").read_text(encoding="utf-8")
    assert text == found.to_markdown()
    assert f"| {found.rows[0].name} | {found.rows[0].test['mrr']:.3f}±" in text
    assert ", one seed;" in text


def test_a_model_that_fails_has_a_row_with_the_reason(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(itransf.models.TransE, "uses", "paths", raising=False)
    settings = [*QUICK, "model.p_norm=2"]  # a setting of TransE alone
    found = compare(graph, ["distmult", "transe"], settings, device="cpu", progress=False)
    assert [(row.name, row.uses, bool(row.problem)) for row in found.rows] == [
        ("transe", "paths", False),
        ("distmult", "", True),
    ]
    assert "distmult failed: settings: there is no setting 'model.p_norm'" in found.to_markdown()
    assert "| distmult | – | – | – | – | – | – | – |  |" in found.to_markdown()


def fail_at(monkeypatch: pytest.MonkeyPatch, model: str, error: BaseException) -> None:
    """Let the training of a model raise an error."""

    def train_or_fail(*arguments: Any, **options: Any) -> Any:
        if f"model.name={model}" in options["settings"]:
            raise error
        return itransf.train(*arguments, **options)

    monkeypatch.setattr("itransf.run.comparison.train", train_or_fail)


@pytest.mark.parametrize(
    "error", [RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."), MemoryError()]
)
def test_a_model_without_memory_has_a_row_and_the_others_go_on(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    fail_at(monkeypatch, "transe", error)
    found = compare(graph, ["transe", "distmult"], QUICK, device="cpu", progress=False)
    assert [(row.name, "memory" in row.problem) for row in found.rows] == [("distmult", False), ("transe", True)]


def test_other_errors_are_raised_and_leave_the_table_so_far(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_at(monkeypatch, "transe", RuntimeError("no"))
    with pytest.raises(RuntimeError, match="no"):
        compare(graph, ["distmult", "transe"], QUICK, out=tmp_path, device="cpu", progress=False)
    rows = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))["rows"]
    assert [row["name"] for row in rows] == ["distmult"]
    assert "| distmult |" in (tmp_path / "comparison.md").read_text(encoding="utf-8")


def test_presets_are_models_too(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **options: Any) -> None:
        raise ConfigError("{preset} {settings} {out}".format(**options))

    monkeypatch.setattr("itransf.run.comparison.train", refuse)
    found = compare(graph, ["wn18/transe", "complex"], ["seed=3"], out=tmp_path, progress=False)
    assert {row.name: row.problem for row in found.rows} == {
        "wn18/transe": f"wn18/transe ('seed=3',) {tmp_path / 'wn18-transe' / 'seed-3'}",
        "complex": f"None ('model.name=complex', 'seed=3') {tmp_path / 'complex' / 'seed-3'}",
    }


@pytest.mark.parametrize(
    ("models", "message"),
    [(["transee"], "Did you mean 'transe'"), (["wn18/trans"], "'wn18/transe'"), ([], "name models")],
)
def test_unknown_models_are_refused_before_any_training(
    graph: Graph, tmp_path: Path, models: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        compare(graph, ["distmult", *models] if models else models, QUICK, out=tmp_path / "new", progress=False)
    assert not (tmp_path / "new").exists()


def test_both_splits_are_needed(number_graph: GraphMaker) -> None:
    with pytest.raises(DataError, match="no valid triples"):
        compare(number_graph([(0, 0, 1)], test=[(1, 0, 0)]), ["transe"], progress=False)


def test_the_page_shows_the_present_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "comparing.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    assert sum(tuple(line.split()) == Comparison.HEADS for line in lines) == 1
    assert Comparison("world", 1, ("training.epochs=20",), ()).describe() in lines


def measure_constant(value: float, triples: int) -> tuple[np.ndarray, np.ndarray, int, float]:
    table = np.full((triples, 4), value)
    return table, table, 5, 2.0 * value


def test_intervals_are_over_triples_and_over_seeds() -> None:
    one = summarise("a", "", [measure_constant(0.5, 10)])
    assert one.interval["mrr"] == (0.5, 0.5)
    two = summarise("a", "", [measure_constant(0.2, 10), measure_constant(0.6, 10)])
    assert two.interval["mrr"] == pytest.approx((0.2, 0.6))
    assert (two.test["mrr"], two.valid["mr"], two.seconds) == pytest.approx((0.4, 0.4, 0.8))
    rng = np.random.default_rng(1)
    table = np.repeat(rng.random((400, 1)), 4, axis=1)
    low, high = summarise("a", "", [(table, table, 5, 1.0)]).interval["hits@1"]
    error = 1.96 * table[:, 0].std() / 20
    assert (low, high) == pytest.approx((table.mean() - error, table.mean() + error), abs=error / 5)


def test_the_picture_shows_the_models(made: tuple[Comparison, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    found, folder = made
    text = found.plot(folder / "picture.svg").read_text(encoding="utf-8")
    assert "Training time" in text
    with pytest.raises(ConfigError, match=r"\.png or \.svg"):
        found.plot(folder / "picture.pdf")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="plots"):
        found.plot(folder / "picture.png")
