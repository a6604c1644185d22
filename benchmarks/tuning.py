"""Random search for the default settings, by validation alone: the test facts are never ranked here.

Every model gets the same number of trials, drawn from the same choices (those it has no use for are left out).

    python -m benchmarks.tuning --dataset world --models transe stranse itransf --trials 16
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import itransf
from benchmarks.records import RESULTS, start_record
from itransf.experiments.bench.records import write_record

CHOICES: Mapping[str, Sequence[float | str]] = {
    "training.learning_rate": (0.02, 0.05, 0.08, 0.12, 0.2),
    "model.n3": (0.0, 0.001, 0.002, 0.003, 0.005),
    "model.matrix_rate": (0.01, 0.03, 0.1, 0.3),
    "model.support_size": (2, 3, 5),
    "model.concepts": (8, 16, 24, 40),
    "model.concept_start": ("identity", "mixed"),
}
UNUSED = {
    "transe": {"model.matrix_rate", "model.support_size", "model.concepts", "model.concept_start"},
    "stranse": {"model.support_size", "model.concepts", "model.concept_start"},
    "itransf": set(),
}


def draw_trials(model: str, count: int, seed: int) -> list[dict[str, float | str]]:
    """Return `count` different draws of the choices this model has a use for."""
    generator, found = random.Random(f"{model} {seed}"), list[dict[str, float | str]]()
    while len(found) < count:
        drawn = {key: generator.choice(values) for key, values in CHOICES.items() if key not in UNUSED[model]}
        if drawn not in found:
            found.append(drawn)
    return found


def run_trial(dataset: str, model: str, settings: Sequence[str], seed: int, device: str) -> dict[str, Any]:
    """Train once and return the best validation figure."""
    graph = itransf.load(dataset, progress=False)
    started = time.perf_counter()
    run = itransf.train(graph, settings=[f"model.name={model}", *settings], seed=seed, device=device, progress=False)
    best = run.info()["best"]
    evaluation = run.evaluate("valid")
    rare = evaluation.buckets[-1]["hits@10"]
    return {
        "valid mrr": evaluation["mrr"],
        "valid rare hits@10": rare,
        "best epoch": best["epoch"],
        "seconds": time.perf_counter() - started,
    }


def start_trial(options: argparse.Namespace, model: str, drawn: Mapping[str, float | str]) -> dict[str, Any]:
    """Run one trial in a process of its own and return its settings and figures."""
    settings = [f"{key}={value}" for key, value in drawn.items()] + options.settings
    words = [sys.executable, "-m", "benchmarks.tuning", "--dataset", options.dataset, "--models", model]
    words += ["--seed", str(options.seed), "--device", options.device, "--one", json.dumps(settings)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    line = done.stdout.strip().splitlines()[-1] if done.returncode == 0 else "{}"
    error = {} if done.returncode == 0 else {"error": done.stderr.strip().splitlines()[-1]}
    return {"model": model, "settings": {**drawn}, **json.loads(line), **error}


def main() -> None:
    """Search, and store every trial."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--models", nargs="+", default=list(UNUSED))
    parser.add_argument("--trials", type=int, default=16, help="per model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="trials side by side")
    parser.add_argument("--threads", type=int, default=1, help="threads of each trial")
    parser.add_argument("--settings", nargs="*", default=[], help="key=value for all trials, over the defaults")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        found = run_trial(options.dataset, options.models[0], json.loads(options.one), options.seed, options.device)
        print(json.dumps(found))
        return
    config = {key: value for key, value in vars(options).items() if key not in ("one", "out") and value != []}
    record = start_record("tuning", options.seed, config, ["torch", "numpy"])
    work = [(m, drawn) for m in options.models for drawn in draw_trials(m, options.trials, options.seed)]
    record["trials"] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(start_trial, options, *one) for one in work]):
            record["trials"].append(done.result())
            print(json.dumps(done.result()), flush=True)
            write_record(record, options.out or RESULTS / f"tuning-{options.dataset}.json")


if __name__ == "__main__":
    main()
