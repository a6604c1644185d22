"""Training and ranking speed compared with other libraries, and start-up times of the program.

    python -m benchmarks.peers            # results/benchmark-peers.json
    python -m benchmarks.peers --demo     # the demo as well

Every measurement runs in a process of its own, and the contenders take turns, so that a machine that slows down
affects all of them. Libraries that are not installed are skipped and named. Our training and ranking are measured with
and without the extra `fast`; the targets are for the first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.contenders import Task
from benchmarks.markdown import describe_setting, format_bytes, format_rate, format_target, make_table
from benchmarks.records import RESULTS, ROOT, Record, count_cores, start_record, summarise, write_record
from itransf.progress import track

OURS, PEERS = "ours", ("pykeen", "torchkge")
BLOCK = 32  # triples of one relation kept together where blocks are shuffled
TIMEOUT = 300  # seconds for one process, loading included
TARGETS: dict[str, Any] = {
    "training": {"model": "itransf", "norm": 1, "ratio": {"wn18": 5.0, "fb15k-237": 5.0}},
    "ranking": {
        "model": "itransf",
        "norm": 1,
        "ratio": {"wn18": 15.0, "fb15k-237": 15.0},
        "peak_bytes": {"wn18": 1.5e9},
    },
    "seconds": {"import": 0.3, "help": 0.5, "demo": 60.0},
}
STARTS = {
    "python": (("-c", "pass"), "`python -c pass`, for comparison"),
    "import": (("-c", "import itransf"), "`python -c 'import itransf'`"),
    "help": (("-m", "itransf", "--help"), "`itransf --help`"),
}
MODELS = {"itransf": "ITransF", "stranse": "STransE", "transe": "TransE", "transr": "TransR"}
LIBRARIES = {"ours": "itransf", "pykeen": "PyKEEN", "torchkge": "TorchKGE"}


def plan_tasks(options: argparse.Namespace) -> list[Task]:
    """Return the measurements of one round, the contenders of a comparison next to each other."""
    graphs = [
        Task("training", "ours", "itransf", "wn18", 50, margin=5.0, learning_rate=0.5),
        Task("training", "ours", "itransf", "fb15k-237", 100, margin=1.0, learning_rate=0.1),
    ]
    tasks: list[Task] = []
    for named in graphs:
        common = {key: getattr(options, key) for key in ("warmup", "seconds", "threads", "seed")}
        base = replace(named, **common)
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
    """Return what can be measured without the missing libraries."""
    left = [task for task in tasks if task.contender not in missing]
    return list(dict.fromkeys(replace(task, fast=task.fast and has_numba) for task in left))


def run_rounds(tasks: Sequence[Task], repetitions: int) -> list[dict[str, Any]]:
    """Measure every task once per round, and return one row per task."""
    rows: list[dict[str, Any]] = [{**asdict(task), "repetitions": []} for task in tasks]
    with track("measuring", repetitions * len(tasks), "measurements") as tracker:
        for _ in range(repetitions):
            for task, row in zip(tasks, rows, strict=True):
                if "error" not in row:
                    try:
                        row["repetitions"].append(run_task(task))
                    except RuntimeError as error:
                        row["error"] = str(error)
                rate = f"{row['repetitions'][-1]['rate']:,.0f}/s" if row["repetitions"] else "failed"
                tracker.advance(1, f"{task.activity} {task.contender} {task.model} {task.dataset}: {rate}")
    for row in rows:
        found = row["repetitions"]
        row["rate"] = summarise([once["rate"] for once in found]) if found else None
        row["peak_bytes"] = max((once["peak_bytes"] for once in found), default=None)
    return rows


def run_task(task: Task) -> dict[str, Any]:
    """Measure a task in a process of its own.

    This process must stay small: on Linux the peak memory of a child is never below what its parent used.
    """
    command = [sys.executable, "-m", "benchmarks.contenders", task.to_json()]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"took longer than {TIMEOUT} s") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"exit code {error.returncode}") from None
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def measure_starts(repetitions: int, demo: bool) -> dict[str, dict[str, Any]]:
    """Return the wall times of a bare interpreter, the import and the help, and of the demo if asked for."""
    for words, _ in STARTS.values():
        time_process(words)  # compiles bytecode
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(repetitions):
        for name, (words, _) in STARTS.items():
            times[name].append(time_process(words))
    if demo:
        with tempfile.TemporaryDirectory() as folder:
            times["demo"] = [time_process(("-m", "itransf", "demo", "--out", f"{folder}/demo"))]
    return {name: {"seconds": found, **summarise(found)} for name, found in times.items()}


def time_process(arguments: Sequence[str]) -> float:
    """Return the seconds that Python takes with these arguments."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=True)
    return time.perf_counter() - started


def compare(rows: Sequence[Record], targets: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the ratio of our rates to that of the faster peer."""
    found = []
    for row in rows:
        peers = [
            other
            for other in rows
            if other["contender"] != OURS
            and other["rate"]
            and all(row[key] == other[key] for key in ("activity", "dataset", "dim"))
        ]
        if row["contender"] != OURS or not row["rate"] or not peers:
            continue
        faster = max(peers, key=lambda other: float(other["rate"]["median"]))
        ratio, target = row["rate"]["median"] / faster["rate"]["median"], _find_target(row, targets, "ratio")
        keys = ("activity", "dataset", "dim", "model", "norm", "block_size", "fast")
        judged = {"target": target, "met": None if target is None else ratio >= target}
        found.append({**_copy(row, keys), "faster_peer": faster["contender"], "ratio": ratio, **judged})
    return found


def judge_memory(rows: Sequence[Record], targets: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the peak memory of every ranking process."""
    found = []
    for row in rows:
        if row["activity"] == "ranking" and row["peak_bytes"] is not None:
            target = _find_target(row, targets, "peak_bytes")
            keys = ("contender", "dataset", "dim", "model", "norm", "fast", "peak_bytes")
            met = None if target is None else row["peak_bytes"] < target
            found.append({**_copy(row, keys), "target": target, "met": met})
    return found


def judge_times(starts: Mapping[str, Record], targets: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return start-up times with their targets."""
    limits = targets["seconds"]
    return {
        name: {
            **found,
            "target": limits.get(name),
            "met": found["median"] < limits[name] if name in limits else None,
        }
        for name, found in starts.items()
    }


def _copy(row: Record, keys: Iterable[str]) -> dict[str, Any]:
    """Return a part of a row; records of earlier versions have fewer keys."""
    return {key: row[key] for key in keys if key in row}


def _find_target(row: Record, targets: Mapping[str, Any], kind: str) -> float | None:
    """Return the target of a row, if there is one."""
    wanted = targets[row["activity"]]
    if row["contender"] != OURS or (row["model"], row["norm"]) != (wanted["model"], wanted["norm"]):
        return None
    limit: float | None = wanted.get(kind, {}).get(row["dataset"])
    return limit if row.get("fast", True) else None


def render(record: Record) -> str:
    """Return the sections of docs/performance.md."""
    config, rows = record["config"], record["rows"]
    failed = [f"- {describe_row(row)} failed: {row['error']}" for row in rows if "error" in row]
    missing = ", ".join(LIBRARIES[name] for name in record["missing"])
    plain = any(not row.get("fast", True) for row in rows)
    lines = [
        "## Compared with other libraries",
        "",
        *describe_setting(record),
        f"- Rounds: {config['repetitions']}, threads: {config['threads']}; every measurement in a process of its own, "
        "the contenders in turn; medians, with the lowest and highest in brackets",
        *(["- Our rows use the extra `fast` (numba) unless they say otherwise; the targets are for those"] * plain),
        *([f"- Not installed and therefore skipped: {missing}"] * bool(missing)),
        *failed,
        "",
        "### Training",
        "",
    ]
    training, ranking = ([row for row in rows if row["activity"] == activity] for activity in ("training", "ranking"))
    if training:
        lines += [
            "Positive triples per second: hinge loss, SGD, one Bernoulli negative, batches of "
            f"{training[0]['batch_size']:,}; ITransF with {training[0]['concepts']} concepts, at most "
            f"{training[0]['support_size']} per relation side, l1, projected vectors of unit length. "
            f"{config['seconds']:g} s of updates count, after a warm-up of {config['warmup']:g} s. Validation and the "
            "assignment step, which run between epochs, are not timed. The other libraries have no ITransF and no "
            "STransE; TransR is the closest of their models, and ratios are of ITransF to it. They train with their "
            "own loops, their own distance (PyKEEN l1, TorchKGE squared l2) and the same dimension for entities and "
            "relations.",
            "",
            make_rate_table(record, training, "triples/s"),
        ]
    lines += ["### Ranking", ""]
    if ranking:
        lines += [
            "Filtered queries per second, one head or tail ranked among all entities each. The triples are a fixed "
            "sample of the test triples (smaller for slow contenders) or all of them, each ranked on both sides. "
            "Preparation is not timed: indexes of known triples, and TorchKGE's table of every entity projected by "
            "every relation. Our own projection is timed. Memory is the peak of the whole process.",
            "",
            make_rate_table(record, ranking, "queries/s", with_memory=True),
        ]
    titles = {name: title for name, (_, title) in STARTS.items()} | {"demo": "`itransf demo`"}
    starts = [
        [titles[name], f"{found['median']:.2f} s", format_target(found, "under {:g} s")]
        for name, found in judge_times(record["starts"], TARGETS).items()
    ]
    text = "Wall time of whole processes, including the start of the interpreter, with files in the cache."
    lines += ["### Start-up", "", text, "", make_table(["process", "time", "target"], starts)]
    return "\n".join(lines)


def make_rate_table(record: Record, rows: Sequence[Record], unit: str, with_memory: bool = False) -> str:
    """Return rates, ratios to the faster peer, and targets, grouped by graph."""
    titles = ["graph", "d", "contender", unit, "to the faster peer", "target"]
    titles += ["triples ranked", "peak memory", "target"] if with_memory else []
    graphs, cells = list(dict.fromkeys(row["dataset"] for row in rows)), []
    for row in sorted(rows, key=lambda row: graphs.index(row["dataset"])):
        ratio, memory = find_match(record["comparisons"], row), find_match(record["memory"], row)
        line = [row["dataset"], str(row["dim"]), describe_row(row), format_rate(row["rate"])]
        is_compared = ratio is not None and row["model"] == TARGETS[row["activity"]]["model"]
        line += [f"{ratio['ratio']:.1f}x" if is_compared else "", format_target(ratio, "at least {:g}x")]
        if with_memory:
            line += [
                f"{row['repetitions'][0]['units'] // 2:,}" if row["repetitions"] else "",
                format_bytes(row["peak_bytes"]) if row["peak_bytes"] else "",
                format_target(memory, "under {:g} GB", 1e9),
            ]
        cells.append(line)
    return make_table(titles, cells)


def find_match(lines: Iterable[Record], row: Record) -> Record | None:
    """Return the line about one of our rows, if there is one."""
    if row["contender"] != OURS:
        return None
    keys = [key for key in ("activity", "dataset", "model", "norm", "block_size", "fast") if key in row]
    ours = (line for line in lines if line.get("contender", OURS) == OURS)
    return next((line for line in ours if all(line.get(key, row[key]) == row[key] for key in keys)), None)


def describe_row(row: Record) -> str:
    """Return the contender as shown in tables."""
    title = f"{LIBRARIES[row['contender']]} {MODELS[row['model']]}"
    if row["contender"] != OURS:
        return title
    title += f", shuffled in blocks of {row['block_size']}" if row["block_size"] > 1 else ""
    title += f", l{row['norm']}" if row["activity"] == "ranking" else ""
    return title if row.get("fast", True) else f"{title}, without `fast`"


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["wn18", "fb15k-237"], choices=["wn18", "fb15k-237"])
    parser.add_argument("--repetitions", type=int, default=3, help="rounds")
    parser.add_argument("--seconds", type=float, default=4.0, help="of training that count, in each round")
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds of training before that")
    parser.add_argument("--our-triples", type=int, default=0, help="test triples we rank; 0 ranks all")
    parser.add_argument("--pykeen-triples", type=int, default=60, help="test triples PyKEEN ranks")
    parser.add_argument("--torchkge-triples", type=int, default=300, help="test triples TorchKGE ranks")
    parser.add_argument("--start-repetitions", type=int, default=5, help="starts of the program")
    parser.add_argument("--demo", action="store_true", help="time `itransf demo` as well, once")
    parser.add_argument("--threads", type=int, default=count_cores(), help="torch threads")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS / "benchmark-peers.json")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the record."""
    options = read_options(arguments)
    missing = [peer for peer in PEERS if find_spec(peer) is None]
    config = {key: value for key, value in vars(options).items() if key != "out"}
    record = start_record("peers", options.seed, config, ("torch", "numpy", "numba", *PEERS))
    rows = run_rounds(adapt(plan_tasks(options), missing, find_spec("numba") is not None), options.repetitions)
    starts = measure_starts(options.start_repetitions, options.demo)
    record |= {
        "missing": missing,
        "targets": TARGETS,
        "rows": rows,
        "comparisons": compare(rows, TARGETS),
        "memory": judge_memory(rows, TARGETS),
        "starts": judge_times(starts, TARGETS),
    }
    write_record(record, options.out)
    for line in record["comparisons"]:
        print(f"{line['activity']} {line['dataset']} {line['model']} l{line['norm']}: {line['ratio']:.2f}x")
    for peer in missing:
        print(f"{peer} is not installed and was skipped")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
