from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.comparing import compare, judge_memory, judge_times
from benchmarks.peers import TARGETS, adapt, plan_tasks, read_options
from benchmarks.records import RESULTS, ROOT, read_records, start_record
from benchmarks.tasks import Task

from itransf.experiments.bench.clock import Clock, TimeIsUpError
from itransf.experiments.bench.hardware import describe_versions
from itransf.experiments.bench.records import format_command, summarise, write_record

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


@pytest.mark.parametrize("activity", ["training", "ranking"])
@pytest.mark.parametrize("dataset", ["wn18", "fb15k-237"])
def test_our_rows_are_planned_with_and_without_the_extra(activity: str, dataset: str) -> None:
    wanted = (activity, dataset, "ours", "itransf", 1, 1)
    found = [
        task.fast
        for task in plan_tasks(read_options([]))
        if (task.activity, task.dataset, task.contender, task.model, task.norm, task.block_size) == wanted
    ]
    assert found == [True, False]


def test_what_is_not_installed_is_not_run() -> None:
    tasks = plan_tasks(read_options([]))
    assert adapt(tasks, [], True) == tasks
    left = adapt(tasks, ["pykeen"], False)
    assert {task.contender for task in left} == {"ours", "torchkge"}
    assert not any(task.fast for task in left)
    assert len(left) == len(set(left))


def test_targets_are_for_ranking_with_the_extra() -> None:
    rows = [
        make_row("ours", "itransf", 160.0, activity="ranking", fast=True),
        make_row("ours", "itransf", 160.0, activity="ranking", fast=False),
        make_row("pykeen", "transr", 10.0, activity="ranking", fast=True),
    ]
    assert [(line["target"], line["met"], line["fast"]) for line in compare(rows, TARGETS)] == [
        (15.0, True, True),
        (None, None, False),
    ]
    assert [line["target"] for line in judge_memory(rows, TARGETS)] == [
        TARGETS["ranking"]["peak_bytes"]["wn18"],
        None,
        None,
    ]


def test_without_the_extra_nothing_is_compiled() -> None:
    task = Task("ranking", "ours", "itransf", "world", 4, concepts=4, support_size=2, triples=3, fast=False)
    code = (
        "import sys; from benchmarks import measure; "
        f"sys.argv = ['measure', {task.to_json()!r}]; measure.main(); "
        "from itransf.ops.ranks import load_compiled; assert load_compiled() is None"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["units"] == 6


def test_a_task_survives_the_way_to_its_process() -> None:
    task = Task("ranking", "ours", "itransf", "wn18", 50, norm=2, triples=10)
    assert Task.from_json(task.to_json()) == task


def test_the_stored_command_measures_the_same_again() -> None:
    options = read_options(["--datasets", "wn18", "--seconds", "0.5", "--demo"])
    config = {key: value for key, value in vars(options).items() if key != "out"}
    words = format_command(("python", "-m", "benchmarks.peers"), config).split()
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
    roots = "|".join({ROOT.parts[1], "home", "mnt", "opt", "root", "tmp", "usr", "var", "Users"})
    assert not re.search(rf'["\s=]/({roots})/', text), "a path of the machine that measured"


@pytest.mark.skipif(not (RESULTS / "benchmark-peers.json").is_file(), reason="nothing was measured yet")
def test_stored_medians_follow_from_the_repetitions() -> None:
    record = read_records()["peers"]
    for row in record["rows"]:
        rates = [once["rate"] for once in row["repetitions"]]
        assert row["rate"] == (summarise(rates) if rates else None)
        assert all(once["rate"] == once["units"] / once["seconds"] for once in row["repetitions"])
    assert record["comparisons"] == compare(record["rows"], record["targets"])
    assert record["memory"] == judge_memory(record["rows"], record["targets"])
