"""A short version of each trial of `make test-trust`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from benchmarks.trust import bombs, concurrency, corruption, hostility, kills, page
from benchmarks.trust.trials import Count, in_process, make_runs

from itransf.errors import DataError
from itransf.training import trainer

logging.getLogger("itransf").addHandler(logging.NullHandler())


@pytest.fixture(autouse=True)
def plain_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Train without compiled steps, whose loading takes longer than these trainings, and in one thread."""
    monkeypatch.setattr(trainer, "make_engine", lambda *_: None)
    monkeypatch.setenv("PIP_INDEX_URL", "")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer, "make_engine", lambda *_: None)
        return make_runs(tmp_path_factory.mktemp("runs"))


def check(count: Count, least: int = 1) -> None:
    assert count.trials >= least
    assert count.failures == 0, count.examples


def test_damaged_files_are_noticed(runs: dict[str, Path], tmp_path: Path) -> None:
    counts = corruption.corrupt(runs, flips=60, truncations=30, seed=0)
    check(counts["flipped bits"], 60)
    check(counts["truncations"], 30)
    assert counts["flipped bits"].outcomes["the checkpoint before it is used"] > 0
    check(corruption.resume_damaged(runs["interrupted"], tmp_path, seed=0, trials=1))


def test_the_trials_notice_a_storage_that_does_not(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("itransf.storage.RunFolder.verify", lambda *_: None)
    assert corruption.corrupt(runs, flips=5, truncations=0, seed=0)["flipped bits"].failures == 5


def test_hostile_folders_are_refused_or_work(runs: dict[str, Path], tmp_path: Path) -> None:
    count, _ = hostility.attack(runs, tmp_path, trials=20, seed=0)
    check(count, 20)
    assert count.outcomes["refused"] > 5


@pytest.mark.parametrize(
    "name",
    ["Parquet, one long name in a dictionary", "Parquet, not UTF-8", "gz", "zip of a gz", "CSV, a million columns"],
)
def test_bombs_are_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bombs, "_SIZE", 2**27)
    monkeypatch.setattr(bombs, "LIMIT", 2**26)
    count, rows = bombs.explode(tmp_path, (name,))
    check(count)
    assert rows[0]["added"] < bombs.LIMIT + bombs.SLACK


@pytest.mark.parametrize("is_kill", [True, False])
def test_faults_leave_the_old_or_the_new_run(is_kill: bool, tmp_path: Path) -> None:
    for count in kills.inject(tmp_path / "faults", is_kill, stride=97).values():
        check(count)


def test_one_wins_or_all_agree(tmp_path: Path) -> None:
    check(concurrency.train_twice(tmp_path, 1))
    check(concurrency.read_while_overwritten(tmp_path, 10), 20)
    check(concurrency.fill_cache_twice(tmp_path, 1))
    check(concurrency.ask_in_threads(1), 36)


def test_processes_tell_what_happened_to_them() -> None:
    def refuse() -> None:
        raise DataError("no")

    assert in_process(lambda: 3).value == 3
    assert in_process(refuse).text == "refused"
    assert in_process(lambda: 1 // 0).text.startswith("traceback: ZeroDivisionError")
    assert in_process(lambda: __import__("time").sleep(9), limit=0.1).signal == 9
    assert in_process(lambda: len(bytearray(50 * 2**20))).added > 40 * 2**20


def test_a_record_is_rendered_with_its_failures() -> None:
    count = {"trials": 7, "failures": 2, "outcomes": {}, "examples": []}
    record = {
        "command": "python -m benchmarks.trust",
        "date": "2026-01-01",
        "git": {"commit": "abc"},
        "hardware": {"cores": 2, "cpu": "cpu"},
        "minutes": 3.0,
        "counts": {"flipped bits": count, "kill: train": count},
        "details": {
            "bombs": [{"name": "gz", "bytes": 10**6, "added": 2**20, "seconds": 0.5}],
            "hostile folders": {"slowest_seconds": 1.0, "memory_ratio": 1.5},
            "opening": {"bytes": 10**9, "open_seconds": 10.0, "checksum_seconds": 0.5, "share": 0.05},
        },
    }
    text = page.render(record)
    assert "| **all** | **14** | **4** |" in text
    assert "5 %" in text
    assert "`train`" in text
