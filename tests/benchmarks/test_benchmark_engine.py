from __future__ import annotations

import torch
from benchmarks.engine import EPOCHS, describe, measure_epochs
from benchmarks.sections.engine import FEW, MANY


def test_whole_epochs_are_timed_after_two_that_are_not() -> None:
    settings = {**EPOCHS["WN18, m 30, batch 1000"][1], "model.dim": 4, "model.concepts": 5}
    assert len(measure_epochs("world", settings, torch.device("cpu"), 2)) == 2


def test_medians_are_held_against_the_bar() -> None:
    found = describe([3.0, 1.0, 2.0], 2.0)
    assert found["seconds"] == {"median": 2.0, "low": 1.0, "high": 3.0, "repetitions": 3}
    assert (found["bar"], found["met"]) == (2.0, True)
    assert describe([3.0], 2.0)["met"] is False
    assert describe([3.0], None)["met"] is None


def test_the_rows_that_are_compared_are_measured() -> None:
    assert {FEW, MANY} <= {f"epoch: {name}" for name in EPOCHS}
