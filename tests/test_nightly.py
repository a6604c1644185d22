"""The nightly job of docs/nightly.md, for ten days in which a few triples come in each."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import itransf
from cli.conftest import call
from itransf.run import compare_valid
from itransf.teaching import Effort
from test_readme import README, find_blocks, run_line

PAGE = README.parent / "docs" / "nightly.md"
QUICK = ("model.dim=8", "training.epochs=3", "warm_start.epochs=0", "training.batch_size=64")
BAD_DAY = 6


def write_day(path: Path, day: int) -> None:
    """Write the triples of a day: two cities and a country."""
    rows = [f"city{day}{letter},city_in,country{day}\n" for letter in "ab"]
    rows += [f"country{day},{relation},country{day - 1}\n" for relation in ("borders", "trades_with")]
    path.write_text("".join([*rows, f"city{day}a,capital_of,country{day}\n"]), encoding="utf-8")


def list_commands(block: str, day: int, alert: str) -> list[str]:
    """Return the commands of the job without comments, for a day."""
    lines = [line.partition("#")[0].strip() for line in block.splitlines()]
    return [line.replace("$DAY", f"day{day}").replace("0.02", alert) for line in lines if line != "set -e"]


def worsen(valid: dict[str, dict[str, float]] | None) -> dict[str, dict[str, float]]:
    """Return the metrics before and after an update as if the MRR had fallen."""
    assert valid is not None
    return {**valid, "before": {**valid["before"], "mrr": valid["after"]["mrr"] + 2.0}}


def test_a_night_without_files_succeeds_and_changes_nothing(tmp_path: Path) -> None:
    (job,) = find_blocks("sh", PAGE)
    (tmp_path / "nightly.sh").write_text(job, encoding="utf-8")
    for folder in ("incoming", "archive", "runs"):
        (tmp_path / folder).mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = subprocess.run(
        ["sh", "nightly.sh"], cwd=tmp_path, env={**os.environ, "DAY": "day1"}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert sorted(tmp_path.rglob("*")) == before


def test_ten_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("itransf.teaching.learn.ENTITY_EFFORT", Effort(steps=3))
    first = tmp_path / "first.csv"
    for day in range(-20, 1):
        write_day(tmp_path / "part.csv", day)
        with first.open("a", encoding="utf-8") as file:
            file.write((tmp_path / "part.csv").read_text(encoding="utf-8"))
    (start,), (job,) = find_blocks("", PAGE), find_blocks("sh", PAGE)
    for line in start.splitlines():
        run_line(line + "".join(f" --set {setting}" for setting in QUICK) if line.startswith("itransf train") else line)
    for day in range(1, 11):
        write_day(tmp_path / "incoming" / f"{day}.csv", day)
        before = itransf.open("runs/latest").record.id
        guard, append, update, *others = list_commands(job, day, "1")
        run_line(guard)
        run_line(append)
        with monkeypatch.context() as bad:
            if day == BAD_DAY:
                bad.setattr("itransf.run.compare_valid", lambda *runs: worsen(compare_valid(*runs)))
            done = call(*update.split()[1:])
        assert done.code == (day == BAD_DAY), done.err
        assert itransf.open("runs/latest").record.id == before
        if day == BAD_DAY:
            assert "the validation MRR fell" in done.err
            continue
        for line in others:
            run_line(line)
        assert itransf.open("runs/latest").record.parent == before
    latest = itransf.open("runs/latest")
    assert all(f"country{day}" in latest.graph.entities for day in range(1, 11))
    counts = [step["added"] for step in latest.record.lineage]
    assert counts == [5] * (BAD_DAY - 1) + [10] + [5] * (10 - BAD_DAY - 1)
    assert sorted(path.name for path in Path("archive").iterdir())[:2] == ["1.csv", "10.csv"]
    assert not list(Path("incoming").iterdir())
    files = [first, *(Path("archive") / f"{day}.csv" for day in range(1, 11))]
    rows = [line.split(",") for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    whole = itransf.Graph.from_triples(rows)
    assert [len(latest.graph.split(split)) for split in ("train", "valid", "test")] == [
        len(whole.split(split)) for split in ("train", "valid", "test")
    ]
