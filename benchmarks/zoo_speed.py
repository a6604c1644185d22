"""Training speed of models beside PyKEEN's models of the same names, on a CPU.

    build/peers/bin/python -m benchmarks.zoo_speed --losses hinge        # results/benchmark-zoo_speed-hinge.json
    build/peers/bin/python -m benchmarks.zoo_speed --losses cross_entropy --datasets codex-s --repetitions 1

Two kinds of training: "hinge" with one Bernoulli negative per triple, and "cross_entropy" over all entities on both
sides of each triple (1-vs-all; PyKEEN's `SymmetricLCWATrainingLoop`). Both libraries get the same triples, dimension,
batch size and optimizer (SGD), and use their own loops. Every measurement runs in a process of its own, and the two
take turns. PyKEEN needs an environment of its own (docs/performance.md); without it nothing is compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.contenders import Task
from benchmarks.markdown import describe_setting, format_rate, format_target, make_table
from benchmarks.peers import LIBRARIES, OURS, run_rounds
from benchmarks.records import RESULTS, Record, start_record, write_record

PEER = "pykeen"
TARGETS: Mapping[str, Mapping[str, float]] = {
    "hinge": {"transe": 5.0, "distmult": 5.0, "complex": 3.0, "rotate": 3.0},
    "cross_entropy": {"transe": 1.0, "distmult": 1.0, "complex": 1.0, "rotate": 1.0},
}
"""Least ratio of our rate to PyKEEN's, by loss and model."""
LOSSES = {"hinge": "one negative, hinge loss", "cross_entropy": "1-vs-all, cross-entropy"}


def plan_tasks(options: argparse.Namespace) -> list[Task]:
    """Return the measurements of one round, the two libraries next to each other."""
    common = {key: getattr(options, key) for key in ("dim", "batch_size", "warmup", "seconds", "threads", "seed")}
    return [
        Task("training", contender, model, dataset, loss=loss, **common)
        for dataset in options.datasets
        for loss in options.losses
        for model in options.models
        for contender in (OURS, PEER)
    ]


def compare(rows: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the ratio of our rate to PyKEEN's for each model, with its target; None where one was not measured."""
    rates = {
        (row["dataset"], row["loss"], row["model"], row["contender"]): row["rate"] and row["rate"]["median"]
        for row in rows
    }
    found = []
    for dataset, loss, model, contender in rates:
        if contender == OURS:
            ours, theirs = (rates.get((dataset, loss, model, library)) for library in (OURS, PEER))
            ratio, target = ours / theirs if ours and theirs else None, TARGETS[loss].get(model)
            met = None if ratio is None or target is None else ratio >= target
            judged = {"target": None if met is None else target, "met": met}
            found.append({"dataset": dataset, "loss": loss, "model": model, "ratio": ratio, **judged})
    return found


def render(record: Record) -> str:
    """Return a section of docs/performance.md."""
    config, rows = record["config"], record["rows"]
    cells = []
    for line in record["comparisons"]:
        own = [row for row in rows if all(row[key] == line[key] for key in ("dataset", "loss", "model"))]
        rates = {row["contender"]: format_rate(row["rate"]) for row in own}
        ratio = "" if line["ratio"] is None else f"{line['ratio']:.1f}x"
        names = [line["dataset"], LOSSES[line["loss"]], line["model"]]
        cells.append([*names, rates[OURS], rates.get(PEER, ""), ratio, format_target(line, "at least {:g}x")])
    failed = [
        f"- {LIBRARIES[row['contender']]} {row['model']} failed: {row['error']}" for row in rows if "error" in row
    ]
    titles = ["graph", "training", "model", "itransf (triples/s)", "PyKEEN (triples/s)", "ratio", "target"]
    lines = [
        f"## Models beside PyKEEN's: {' and '.join(LOSSES[loss] for loss in config['losses'])}",
        "",
        *describe_setting(record),
        f"- Rounds: {config['repetitions']}, threads: {config['threads']}; every measurement in a process of its own, "
        "the libraries in turn; medians, with the lowest and highest in brackets",
        *failed,
        "",
        f"Positive triples per second: d {config['dim']}, batches of {config['batch_size']:,}, SGD, each library with "
        f"its own training loop; TransE with the l1 norm. {config['seconds']:g} s of updates count, after a warm-up of "
        f"{config['warmup']:g} s.",
        "",
        make_table(titles, cells),
    ]
    return "\n".join(lines)


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["fb15k-237"])
    parser.add_argument("--models", nargs="+", default=["transe", "distmult", "complex", "rotate"])
    parser.add_argument("--losses", nargs="+", default=list(LOSSES), choices=list(LOSSES))
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=3, help="rounds")
    parser.add_argument("--seconds", type=float, default=4.0, help="of training that count, in each round")
    parser.add_argument("--warmup", type=float, default=1.0, help="seconds of training before that")
    parser.add_argument("--threads", type=int, default=2, help="torch threads")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="default: results/benchmark-zoo_speed-LOSSES.json")
    options = parser.parse_args(arguments)
    options.out = options.out or RESULTS / f"benchmark-zoo_speed-{'-'.join(options.losses)}.json"
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write the record."""
    options = read_options(arguments)
    if find_spec(PEER) is None:
        raise SystemExit("PyKEEN is not installed here, so there is nothing to compare; see docs/performance.md")
    config = {key: value for key, value in vars(options).items() if key != "out"}
    record = start_record("zoo_speed", options.seed, config, ("torch", "numpy", "numba", PEER))
    rows = run_rounds(plan_tasks(options), options.repetitions)
    record |= {"targets": TARGETS, "rows": rows, "comparisons": compare(rows)}
    write_record(record, options.out)
    for line in record["comparisons"]:
        ratio = "not measured" if line["ratio"] is None else f"{line['ratio']:.2f}x"
        print(f"{line['dataset']} {line['loss']} {line['model']}: {ratio}")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
