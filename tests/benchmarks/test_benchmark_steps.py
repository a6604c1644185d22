from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from benchmarks.records import read_records

import itransf
from benchmarks import steps
from itransf.run.settings import resolve_config


def test_fast_and_plain_steps_are_stored_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "IComplEx, all entities, N3"
    monkeypatch.setattr(steps, "RESULTS", tmp_path)
    monkeypatch.setattr(steps, "CASES", {name: steps.CASES[name]})
    words = ("--dataset", "world", "--dim", "4", "--rounds", "1", "--seconds", "0.01", "--threads", "1")
    monkeypatch.setattr(sys, "argv", ["steps", *words])
    steps.main()
    record = read_records(tmp_path)["steps-world"]
    assert all(record["cases"][name][kind]["median"] > 0 for kind in ("plain", "fast"))
    assert f"| {name} |" in steps.render(record)


def test_a_training_without_fast_steps_has_no_rate_of_them() -> None:
    graph = itransf.load("world", progress=False)
    config = resolve_config(graph, settings=["model.name=ntn", "model.dim=2"], device="cpu")
    assert steps.measure_rate(graph, config, torch.device("cpu"), True, 0.01) is None


def test_cases_can_be_configured() -> None:
    graph = itransf.load("world", progress=False)
    for settings in steps.CASES.values():
        resolve_config(graph, settings=[*steps.COMMON, *settings], device="cpu")
