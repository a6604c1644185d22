"""Measure training and ranking beside other libraries, and how soon the program answers; one command.

    python -m benchmarks.peers            # results/benchmark-peers.json
    python -m benchmarks.peers --demo     # the demo as well

Every measurement runs in a process of its own; the contenders take turns, so that a machine that slows
down slows all of them. A library that is not installed is left out and named. Our training and ranking
are measured with the extra `fast` and without it; the targets are for the first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.comparing import compare, judge_memory, judge_times
from benchmarks.records import RESULTS, ROOT, start_record
from benchmarks.starting import measure_starts
from benchmarks.tasks import Task
from itransf.experiments.bench.hardware import count_cores
from itransf.experiments.bench.records import summarise, write_record
from itransf.progress import Tracker, track

PEERS = ("pykeen", "torchkge")
BLOCK = 32  # triples of one relation kept together where blocks are shuffled
TIMEOUT = 300  # seconds one process may take, loading included
TARGETS: dict[str, Any] = {
    "training": {"model": "itransf", "norm": 1, "ratio": {"wn18": 5.0, "fb15k-237": 5.0}},
    "ranking": {
        "model": "itransf",
        "norm": 1,
        "ratio": {"wn18": 15.0, "fb15k-237": 15.0},
        "peak_bytes": {"wn18": 1.5e9},
    },
    "seconds": {"import": 0.3, "help": 0.5, "demo": 120.0},
}


def plan_tasks(options: argparse.Namespace) -> list[Task]:
    """Return every measurement of one round, the contenders of a comparison next to each other."""
    graphs = [
        Task("training", "ours", "itransf", "wn18", 50, margin=5.0, learning_rate=0.5),
        Task("training", "ours", "itransf", "fb15k-237", 100, margin=1.0, learning_rate=0.1),
    ]
    tasks: list[Task] = []
    for named in graphs:
        base = replace(
            named,
            warmup=options.warmup,
            seconds=options.seconds,
            threads=options.threads,
            seed=options.seed,
        )
        peers = [replace(base, contender=peer, model="transr") for peer in PEERS]
        tasks += [base, *peers, replace(base, fast=False), replace(base, block_size=BLOCK)]
        tasks += [replace(base, model=model) for model in ("stranse", "transe")]
        ranking = replace(base, activity="ranking", triples=options.our_triples)
        tasks += [ranking, replace(ranking, fast=False), replace(ranking, norm=2)]
        tasks += [
            replace(ranking, contender=peer, model="transr", triples=triples)
            for peer, triples in (("pykeen", options.pykeen_triples), ("torchkge", options.torchkge_triples))
        ]
    return [task for task in tasks if task.dataset in options.datasets]


def adapt(tasks: Sequence[Task], missing: Sequence[str], has_numba: bool) -> list[Task]:
    """Return what can be measured here: without libraries that are missing, without the extra where it is."""
    left = [task for task in tasks if task.contender not in missing]
    return list(dict.fromkeys(replace(task, fast=task.fast and has_numba) for task in left))


def run_rounds(tasks: Sequence[Task], repetitions: int) -> list[dict[str, Any]]:
    """Measure every task so many times, one round after the other, and return one row per task."""
    rows: list[dict[str, Any]] = [{**asdict(task), "repetitions": []} for task in tasks]
    with track("measuring", repetitions * len(tasks), "measurements") as tracker:
        for _ in range(repetitions):
            for task, row in zip(tasks, rows, strict=True):
                _add_repetition(task, row, tracker)
    for row in rows:
        found = row["repetitions"]
        row["rate"] = summarise([once["rate"] for once in found]) if found else None
        row["peak_bytes"] = max((once["peak_bytes"] for once in found), default=None)
    return rows


def _add_repetition(task: Task, row: dict[str, Any], tracker: Tracker) -> None:
    """Measure once and keep the figures, or the reason why there are none."""
    if "error" not in row:
        try:
            row["repetitions"].append(run_task(task))
        except RuntimeError as error:
            row["error"] = str(error)
    rate = f"{row['repetitions'][-1]['rate']:,.0f}/s" if row["repetitions"] else "failed"
    tracker.advance(1, f"{task.activity} {task.contender} {task.model} {task.dataset}: {rate}")


def run_task(task: Task) -> dict[str, Any]:
    """Measure a task in a process of its own.

    This process must stay small: on Linux a child's peak memory is never below what its parent held.
    """
    command = [sys.executable, "-m", "benchmarks.measure", task.to_json()]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"took longer than {TIMEOUT} s") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {error.returncode}") from None
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure_peers(options: argparse.Namespace) -> dict[str, Any]:
    """Run everything and return the record."""
    missing = [peer for peer in PEERS if find_spec(peer) is None]
    config = {key: value for key, value in vars(options).items() if key != "out"}
    record = start_record("peers", options.seed, config, ("torch", "numpy", "numba", *PEERS))
    tasks = adapt(plan_tasks(options), missing, find_spec("numba") is not None)
    rows = run_rounds(tasks, options.repetitions)
    starts = measure_starts(options.start_repetitions, options.demo)
    return record | {
        "missing": missing,
        "targets": TARGETS,
        "rows": rows,
        "comparisons": compare(rows, TARGETS),
        "memory": judge_memory(rows, TARGETS),
        "starts": judge_times(starts, TARGETS),
    }


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["wn18", "fb15k-237"], choices=["wn18", "fb15k-237"])
    parser.add_argument("--repetitions", type=int, default=3, help="rounds; the median counts")
    parser.add_argument("--seconds", type=float, default=4.0, help="of training that count, each time")
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds of training before that")
    parser.add_argument("--our-triples", type=int, default=0, help="test triples we rank; 0 takes all")
    parser.add_argument("--pykeen-triples", type=int, default=60, help="test triples PyKEEN ranks")
    parser.add_argument("--torchkge-triples", type=int, default=300, help="test triples TorchKGE ranks")
    parser.add_argument("--start-repetitions", type=int, default=5, help="starts of the program")
    parser.add_argument("--demo", action="store_true", help="time `itransf demo` as well, once")
    parser.add_argument("--threads", type=int, default=count_cores(), help="threads torch may use")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS / "benchmark-peers.json")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the record."""
    options = read_options(arguments)
    record = measure_peers(options)
    write_record(record, options.out)
    for line in record["comparisons"]:
        print(f"{line['activity']} {line['dataset']} {line['model']} l{line['norm']}: {line['ratio']:.2f}x")
    for peer in record["missing"]:
        print(f"{peer} is not installed and was left out")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
