from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import itransf
from cli.conftest import call
from golden.comparing import check_golden
from itransf.cli.bench import show_record

RECORD: dict[str, Any] = {
    "config": {"data": "world", "device": "cpu", "seconds": 3.0, "seed": 0},
    "hardware": {"cpu": "Some CPU", "gpu": None},
    "versions": {"python": "3.11.7", "torch": "2.4.0", "numba": None},
    "threads": 2,
    "counted": {"triple": "A triple: so much.", "query": "A query: so much more."},
    "ceilings": {"product": {"flops": 1.5e11, "side": 1024}, "copy": {"bytes": 2.0e10, "numbers": 1 << 26}},
    "measures": [
        {
            "activity": "training",
            "unit": "triples",
            "dim": 50,
            "concepts": 30,
            "support_size": 5,
            "batch_size": 1000,
            "rate": 100000.0,
            "cost": {"flops": 45000.0, "bytes": 2000.0},
            "flops": 4.5e9,
            "bytes": 2.0e8,
            "of_product": 0.03,
            "of_copy": 0.01,
            "counted": 300000,
        }
    ],
}


def print_record(record: dict[str, Any]) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        show_record(record, console)
    return captured.get()


def test_what_people_see() -> None:
    check_golden("bench.txt", print_record(RECORD))


def test_a_gpu_is_named_where_it_was_measured() -> None:
    record = RECORD | {"config": RECORD["config"] | {"device": "cuda"}, "hardware": {"cpu": "c", "gpu": "Some GPU"}}
    assert print_record(record).startswith("Some GPU; python 3.11.7")


def test_the_command_prints_and_stores_the_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[object, ...]] = []

    def pretend(*arguments: object) -> dict[str, Any]:
        asked.append(arguments)
        return RECORD

    monkeypatch.setattr(itransf.experiments, "run_bench", pretend)
    options = ("--data", "wn18", "--device", "cpu", "--seconds", "0.5", "--seed", "7")
    done = call("bench", *options, "--out", tmp_path / "new" / "bench.json", "--json")
    assert done.code == 0, done.err
    assert asked == [("wn18", "cpu", 0.5, 7)]
    assert json.loads(done.out) == RECORD
    assert json.loads((tmp_path / "new" / "bench.json").read_text(encoding="utf-8")) == RECORD
    assert "100,000 triples/s" in call("bench").out


def test_misuse_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    for seconds in ("0", "nan", "inf"):
        done = call("bench", "--seconds", seconds)
        assert (done.code, "above zero" in done.err) == (2, True)
    assert call("bench", "--data", "no-such-graph", "--out", tmp_path / "new" / "bench.json").code == 2
    assert list(tmp_path.iterdir()) == []
    done = call("bench", "--out", tmp_path)
    assert (done.code, "is a folder" in done.err) == (1, True)
