from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from benchmarks.contenders import Task
from benchmarks.contenders.ours import configure
from benchmarks.peers import TARGETS, adapt, compare, judge_memory, judge_times, plan_tasks, read_options, render
from benchmarks.records import ROOT, read_records, start_record, summarise


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
        "import sys; from benchmarks.contenders import __main__ as measure; "
        f"sys.argv = ['measure', {task.to_json()!r}]; measure.main(); "
        "from itransf.ops.ranks import load_compiled; assert load_compiled() is None"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["units"] == 6


@pytest.mark.parametrize("model", ["itransf", "stranse", "transe"])
def test_our_training_has_the_settings_of_the_task(model: str) -> None:
    task = Task("training", "ours", model, "wn18", 50, norm=2, block_size=32, margin=5.0, learning_rate=0.5, seed=3)
    config = configure(task)
    assert (config.name, config.model.dim, config.model.p_norm, config.seed) == (model, 50, 2, 3)
    assert config.model.projected_constraint == ("none" if model == "transe" else "unit")
    assert (config.training.block_size, config.training.learning_rate, config.loss.margin) == (32, 0.5, 5.0)
    assert (config.training.optimizer, config.loss.name, config.negatives.sampler) == ("sgd", "hinge", "bernoulli")


def test_a_task_survives_the_way_to_its_process() -> None:
    task = Task("ranking", "ours", "itransf", "wn18", 50, norm=2, triples=10)
    assert Task.from_json(task.to_json()) == task


def test_stored_medians_follow_from_the_repetitions() -> None:
    record = read_records()["peers"]
    for row in record["rows"]:
        rates = [once["rate"] for once in row["repetitions"]]
        assert row["rate"] == (summarise(rates) if rates else None)
        assert all(once["rate"] == once["units"] / once["seconds"] for once in row["repetitions"])
    assert record["comparisons"] == compare(record["rows"], record["targets"])
    assert record["memory"] == judge_memory(record["rows"], record["targets"])


@pytest.fixture
def record() -> dict[str, Any]:
    """Return a made-up record: task number i of the plan, from one, ran at 100 i - 1, 100 i and 100 i + 1."""
    options = read_options(["--threads", "2"])
    rows: list[dict[str, Any]] = []
    for number, task in enumerate(plan_tasks(options), start=1):
        rates = [100.0 * number + offset for offset in (-1.0, 0.0, 1.0)]
        repetitions = [{"units": int(2 * rate), "seconds": 2.0, "rate": rate, "peak_bytes": 10**9} for rate in rates]
        row = {**vars(task), "repetitions": repetitions, "rate": summarise(rates), "peak_bytes": 10**9}
        rows.append(row)
    config = {key: value for key, value in vars(options).items() if key != "out"}
    starts = {"import": {"seconds": [0.125], **summarise([0.125])}}
    return start_record("peers", 0, config, ()) | {
        "missing": [],
        "targets": TARGETS,
        "rows": rows,
        "comparisons": compare(rows, TARGETS),
        "memory": judge_memory(rows, TARGETS),
        "starts": judge_times(starts, TARGETS),
    }


def find_lines(page: str, *words: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("|") and all(word in line for word in words)]


def test_rates_ratios_and_targets_come_from_the_record(record: dict[str, Any]) -> None:
    page = render(record)
    (line,) = find_lines(page, "wn18", "itransf ITransF |")
    ratio = record["comparisons"][0]
    assert f"| 100 (99 to 101) | {ratio['ratio']:.1f}x | at least 5x: **missed** |" in line
    (ranked,) = find_lines(page, "wn18", "itransf ITransF, l1 |")
    assert ranked.endswith("| 799 | 1.00 GB | under 1.5 GB: met |")
    (plain,) = find_lines(page, "wn18", "itransf ITransF, l1, without `fast`")
    assert "at least" not in plain
    assert "under" not in plain
    assert "extra `fast`" in page
    (started,) = find_lines(page, "import itransf")
    assert "| 0.12 s | under 0.3 s: met |" in started


def test_peers_have_no_ratio_and_no_target(record: dict[str, Any]) -> None:
    for line in find_lines(render(record), "PyKEEN"):
        assert "x |" not in line
        assert "met" not in line


def test_other_figures_give_another_page(record: dict[str, Any]) -> None:
    before = render(record)
    record["rows"][0]["rate"] = summarise([123456.0])
    assert "123,456" in render(record)
    assert "123,456" not in before


def test_what_is_missing_or_failed_is_named(record: dict[str, Any]) -> None:
    record["missing"] = ["torchkge"]
    record["rows"][1] |= {"repetitions": [], "rate": None, "peak_bytes": None, "error": "ran out of memory"}
    page = render(record)
    assert "skipped: TorchKGE" in page
    assert "TransR failed: ran out of memory" in page
    assert find_lines(page, "PyKEEN TransR", "| failed |")
