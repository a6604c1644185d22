"""Measure the task in the only argument and print the result as one line of JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from contextlib import suppress
from importlib import import_module

import torch

from benchmarks.contenders import Task
from benchmarks.speed import Clock, TimeIsUpError

WARMUP_TRIPLES = 4  # ranked before the clock starts


def measure_training(task: Task) -> tuple[int, float]:
    """Return the number of positive triples trained on, and the seconds."""
    clock = Clock(task.warmup, task.seconds)
    with suppress(TimeIsUpError):
        import_module(f"benchmarks.contenders.{task.contender}").train(task, clock)
    return clock.units, clock.elapsed


def measure_ranking(task: Task) -> tuple[int, float]:
    """Return the number of queries ranked (one head or tail each), and the seconds."""
    triples = task.draw_triples()
    rank = import_module(f"benchmarks.contenders.{task.contender}").prepare_ranking(task)
    rank(triples[:WARMUP_TRIPLES])
    started = time.perf_counter()
    rank(triples)
    return 2 * len(triples), time.perf_counter() - started


def main() -> None:
    """Measure."""
    task = Task.from_json(sys.argv[1])
    if not task.fast:
        sys.modules["numba"] = None  # type: ignore[assignment]  # importing it fails, as if it were not installed
    warnings.simplefilter("ignore")  # of the other libraries about their dependencies
    torch.set_num_threads(task.threads)
    torch.manual_seed(task.seed)
    units, seconds = (measure_training if task.activity == "training" else measure_ranking)(task)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(json.dumps({"units": units, "seconds": seconds, "rate": units / seconds, "peak_bytes": peak}))


if __name__ == "__main__":
    main()
