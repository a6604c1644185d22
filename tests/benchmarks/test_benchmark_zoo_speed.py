from __future__ import annotations

from typing import Any

import pytest
from benchmarks.contenders.ours import configure
from benchmarks.records import start_record, summarise
from benchmarks.zoo_speed import LOSSES, TARGETS, compare, plan_tasks, read_options, render


def make_rows(rates: dict[tuple[str, str, str], float | None]) -> list[dict[str, Any]]:
    """Return made-up rows from (loss, model, library) and the rate."""
    names = ("loss", "model", "contender")
    return [
        {"dataset": "world", **dict(zip(names, key, strict=True)), "rate": rate and summarise([rate])}
        for key, rate in rates.items()
    ]


def test_both_libraries_are_planned_for_every_model_and_loss() -> None:
    tasks = plan_tasks(read_options(["--datasets", "world", "--models", "transe", "rotate", "--threads", "3"]))
    assert [(task.loss, task.model, task.contender) for task in tasks] == [
        (loss, model, contender)
        for loss in LOSSES
        for model in ("transe", "rotate")
        for contender in ("ours", "pykeen")
    ]
    assert {(task.dim, task.batch_size, task.threads) for task in tasks} == {(100, 1000, 3)}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model", ["transe", "distmult", "complex"])
def test_our_training_has_the_settings_of_the_task(model: str, loss: str) -> None:
    (task, _) = plan_tasks(read_options(["--datasets", "world", "--models", model, "--losses", loss]))
    config = configure(task)
    assert (config.name, config.model.dim, config.training.batch_size) == (model, 100, 1000)
    assert (config.loss.name, config.training.optimizer, config.negatives.per_triple) == (loss, "sgd", 1)
    assert config.loss.candidates == 0 or loss == "hinge"


def test_ratios_have_the_target_of_their_model_and_loss() -> None:
    rows = make_rows(
        {
            ("hinge", "transe", "ours"): 60.0,
            ("hinge", "transe", "pykeen"): 10.0,
            ("cross_entropy", "complex", "ours"): 9.0,
            ("cross_entropy", "complex", "pykeen"): 10.0,
            ("hinge", "rotate", "ours"): None,
            ("hinge", "rotate", "pykeen"): 10.0,
            ("hinge", "ntn", "ours"): 10.0,
            ("hinge", "ntn", "pykeen"): 10.0,
        }
    )
    found = [(line["model"], line["ratio"], line["target"], line["met"]) for line in compare(rows)]
    assert found == [
        ("transe", 6.0, TARGETS["hinge"]["transe"], True),
        ("complex", 0.9, TARGETS["cross_entropy"]["complex"], False),
        ("rotate", None, None, None),
        ("ntn", 1.0, None, None),
    ]


def test_the_page_shows_rates_ratios_and_failures() -> None:
    options = read_options([])
    rows = make_rows({("hinge", "transe", "ours"): 60.0, ("hinge", "transe", "pykeen"): 20.0})
    rows += make_rows({("hinge", "rotate", "ours"): None, ("hinge", "rotate", "pykeen"): 10.0})
    rows[2]["error"] = "there is no model 'rotate'"
    config = {key: value for key, value in vars(options).items() if key != "out"}
    record = start_record("zoo_speed", 0, config, ()) | {"rows": rows, "comparisons": compare(rows)}
    page = render(record)
    assert "| transe | 60 (60 to 60) | 20 (20 to 20) | 3.0x | at least 5x: **missed** |" in page
    assert "- itransf rotate failed: there is no model 'rotate'" in page
    assert "| rotate | failed | 10 (10 to 10) |  |  |" in page
