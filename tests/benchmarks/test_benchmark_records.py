from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from benchmarks.clock import Clock, TimeIsUpError
from benchmarks.comparing import compare, judge_memory, judge_times
from benchmarks.peers import TARGETS, plan_tasks, read_options
from benchmarks.records import (
    RESULTS,
    describe_versions,
    format_command,
    read_records,
    start_record,
    summarise,
    write_record,
)
from benchmarks.tasks import Task

STORED = sorted(RESULTS.glob("benchmark-*.json"))


def make_row(contender: str, model: str, median: float, **changes: object) -> dict[str, object]:
    row: dict[str, object] = {
        "activity": "training",
        "contender": contender,
        "dataset": "wn18",
        "dim": 50,
        "model": model,
        "norm": 1,
        "block_size": 1,
        "rate": {"median": median, "low": median, "high": median},
        "peak_bytes": 10**9,
    }
    return row | changes


def test_the_clock_counts_only_what_follows_the_warm_up() -> None:
    times = iter([0.0, 0.5, 1.0, 2.0, 3.5])
    clock = Clock(warmup=1.0, seconds=2.0, now=lambda: next(times))
    for _ in range(4):
        clock.count(10)
    with pytest.raises(TimeIsUpError):
        clock.count(7)
    assert (clock.units, clock.elapsed) == (17, 2.5)


def test_the_first_unit_never_counts() -> None:
    times = iter([5.0, 6.0])
    clock = Clock(warmup=0.0, seconds=1.0, now=lambda: next(times))
    clock.count(10)
    with pytest.raises(TimeIsUpError):
        clock.count(10)
    assert (clock.units, clock.elapsed) == (10, 1.0)


def test_ratios_are_to_the_faster_peer_and_judged_only_where_a_target_is() -> None:
    rows = [
        make_row("ours", "itransf", 50.0),
        make_row("pykeen", "transr", 10.0),
        make_row("torchkge", "transr", 20.0),
        make_row("torchkge", "transr", 99.0, dataset="fb15k-237", dim=100),
        make_row("ours", "stranse", 40.0),
    ]
    found = compare(rows, TARGETS)
    assert [(line["model"], line["ratio"], line["faster_peer"]) for line in found] == [
        ("itransf", 2.5, "torchkge"),
        ("stranse", 2.0, "torchkge"),
    ]
    assert [(line["target"], line["met"]) for line in found] == [
        (TARGETS["training"]["ratio"]["wn18"], False),
        (None, None),
    ]


def test_a_failed_peer_is_no_rival_and_a_failed_row_has_no_ratio() -> None:
    rows = [make_row("ours", "itransf", 50.0), make_row("pykeen", "transr", 10.0, rate=None)]
    assert compare(rows, TARGETS) == []
    rows = [make_row("ours", "itransf", 50.0, rate=None), make_row("pykeen", "transr", 10.0)]
    assert compare(rows, TARGETS) == []


def test_memory_is_judged_for_our_ranking_alone() -> None:
    limit = TARGETS["ranking"]["peak_bytes"]["wn18"]
    rows = [
        make_row("ours", "itransf", 1.0),
        make_row("ours", "itransf", 1.0, activity="ranking", peak_bytes=limit - 1),
        make_row("ours", "itransf", 1.0, activity="ranking", peak_bytes=limit),
        make_row("pykeen", "transr", 1.0, activity="ranking"),
    ]
    assert [line["met"] for line in judge_memory(rows, TARGETS)] == [True, False, None]


def test_times_stand_beside_their_targets() -> None:
    found = judge_times({"python": {"median": 9.0}, "import": {"median": 0.2}}, TARGETS)
    assert found["python"]["met"] is None
    assert found["import"]["met"] is True
    assert found["import"]["target"] == TARGETS["seconds"]["import"]


def test_every_comparison_is_planned_with_both_peers() -> None:
    tasks = plan_tasks(read_options(["--threads", "3", "--seed", "7"]))
    for activity in ("training", "ranking"):
        for dataset in ("wn18", "fb15k-237"):
            found = {task.contender for task in tasks if (task.activity, task.dataset) == (activity, dataset)}
            assert found == {"ours", "pykeen", "torchkge"}
    assert {(task.threads, task.seed) for task in tasks} == {(3, 7)}
    assert {task.norm for task in tasks if task.activity == "ranking" and task.contender == "ours"} == {1, 2}


def test_a_task_survives_the_way_to_its_process() -> None:
    task = Task("ranking", "ours", "itransf", "wn18", 50, norm=2, facts=10)
    assert Task.from_json(task.to_json()) == task


def test_the_stored_command_measures_the_same_again() -> None:
    options = read_options(["--datasets", "wn18", "--seconds", "0.5", "--demo"])
    config = {key: value for key, value in vars(options).items() if key != "out"}
    words = format_command("peers", config).split()
    assert words[:3] == ["python", "-m", "benchmarks.peers"]
    assert read_options(words[3:]) == options


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    record = start_record("peers", 3, {"seconds": 1.0}, ("no-such-package",))
    write_record(record, tmp_path / "benchmark-peers.json")
    assert read_records(tmp_path) == {"peers": record}
    assert record["versions"]["no-such-package"] is None
    assert record["hardware"]["cores"] >= 1


def test_a_record_refuses_what_json_cannot_say(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_record({"rate": float("nan")}, tmp_path / "benchmark-peers.json")
    assert not list(tmp_path.iterdir())


def test_versions_name_this_package_and_python() -> None:
    assert set(describe_versions(())) == {"python", "itransf"}


def test_the_median_stands_between_the_extremes() -> None:
    assert summarise([3.0, 1.0, 2.0]) == {"median": 2.0, "low": 1.0, "high": 3.0}


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_records_are_whole(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    record = json.loads(text)
    for key in ("benchmark", "command", "date", "seed", "config", "git", "hardware", "versions"):
        assert key in record
    assert not re.search(r'["\s=](/(?!s\b)\w+)+/', text), "a path of the machine that measured"


@pytest.mark.skipif(not (RESULTS / "benchmark-peers.json").is_file(), reason="nothing was measured yet")
def test_stored_medians_follow_from_the_repetitions() -> None:
    record = read_records()["peers"]
    for row in record["rows"]:
        rates = [once["rate"] for once in row["repetitions"]]
        assert row["rate"] == (summarise(rates) if rates else None)
        assert all(once["rate"] == once["units"] / once["seconds"] for once in row["repetitions"])
    assert record["comparisons"] == compare(record["rows"], record["targets"])
    assert record["memory"] == judge_memory(record["rows"], record["targets"])
