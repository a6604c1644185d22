"""Measure one task in this process and print the result as one line of JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

import torch

from benchmarks.tasks import Task, draw_triples, load_graph
from itransf.experiments.bench.clock import Clock, TimeIsUpError

WARMUP_TRIPLES = 4  # ranked before the clock runs


def measure_training(task: Task) -> dict[str, Any]:
    """Return how many positive triples were trained on, and how long that took."""
    clock = Clock(task.warmup, task.seconds)
    with suppress(TimeIsUpError):
        import_module(f"benchmarks.contenders.{task.contender}").train(task, clock)
    return describe(clock.units, clock.elapsed)


def measure_ranking(task: Task) -> dict[str, Any]:
    """Return how many queries (one head or tail each) were ranked, and how long that took."""
    triples = draw_triples(load_graph(task), task.triples, task.seed)
    rank = import_module(f"benchmarks.contenders.{task.contender}").prepare_ranking(task)
    rank(triples[:WARMUP_TRIPLES])
    started = time.perf_counter()
    rank(triples)
    return describe(2 * len(triples), time.perf_counter() - started)


def describe(units: int, seconds: float) -> dict[str, Any]:
    """Return one repetition's figures."""
    return {"units": units, "seconds": seconds, "rate": units / seconds, "peak_bytes": read_peak_memory()}


def read_peak_memory() -> int:
    """Return the most memory this process has held so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> None:
    """Measure the task that the only argument describes."""
    task = Task.from_json(sys.argv[1])
    if not task.fast:
        sys.modules["numba"] = None  # type: ignore[assignment]  # to import it fails, as where it is not installed
    warnings.simplefilter("ignore")  # peers' remarks on their own dependencies
    torch.set_num_threads(task.threads)
    torch.manual_seed(task.seed)
    found = (measure_training if task.activity == "training" else measure_ranking)(task)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
