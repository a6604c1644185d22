"""Random search for the default settings by validation metrics; the test triples are never ranked.

Every model gets the same number of trials, drawn from the same choices (without settings it does not have). The best
trials of stored searches, by the mean of validation MRR and validation Hits@10 on the rarest third of relations, are
repeated with other seeds; the settings with the best mean validation MRR are chosen.

    python -m benchmarks.tuning --dataset world --models transe stranse itransf --trials 16
    python -m benchmarks.tuning --dataset world --models itransf --trials 8 --only model.concept_init=mixed
    python -m benchmarks.tuning --dataset world --confirm results/tuning-world-*.json --seeds 1 2 3
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import itransf
from benchmarks.records import RESULTS, start_record, write_record

CHOICES: Mapping[str, Sequence[float | str]] = {
    "training.learning_rate": (0.02, 0.05, 0.08, 0.12, 0.2),
    "regularizer.weight": (0.0, 0.001, 0.002, 0.003, 0.005),
    "model.matrix_lr_factor": (0.01, 0.03, 0.1, 0.3),
    "model.support_size": (2, 3, 5),
    "model.concepts": (8, 16, 24, 40),
    "model.concept_init": ("identity", "mixed"),
}
UNUSED = {
    "transe": {"model.matrix_lr_factor", "model.support_size", "model.concepts", "model.concept_init"},
    "stranse": {"model.support_size", "model.concepts", "model.concept_init"},
    "itransf": set(),
}


def narrow_choices(only: Sequence[str]) -> dict[str, Sequence[float | str]]:
    """Return the choices, restricted by texts such as "model.concepts=8,16"."""
    wanted = {key: values.split(",") for key, _, values in (text.partition("=") for text in only)}
    if not wanted.keys() <= CHOICES.keys():
        raise SystemExit(f"--only takes {', '.join(CHOICES)}")
    return {key: [one for one in values if str(one) in wanted.get(key, [str(one)])] for key, values in CHOICES.items()}


def draw_trials(model: str, count: int, seed: int, only: Sequence[str] = ()) -> list[dict[str, float | str]]:
    """Return `count` different draws of the settings this model has."""
    choices = {key: values for key, values in narrow_choices(only).items() if key not in UNUSED[model]}
    generator, found = random.Random(f"{model} {seed}"), list[dict[str, float | str]]()
    while len(found) < min(count, math.prod(map(len, choices.values()))):
        drawn = {key: generator.choice(values) for key, values in choices.items()}
        if drawn not in found:
            found.append(drawn)
    return found


def run_trial(dataset: str, model: str, settings: Sequence[str], seed: int, device: str) -> dict[str, Any]:
    """Train once and return the validation metrics."""
    graph = itransf.load(dataset, progress=False)
    started = time.perf_counter()
    run = itransf.train(graph, settings=[f"model.name={model}", *settings], seed=seed, device=device, progress=False)
    evaluation = run.evaluate("valid")
    return {
        "valid mrr": evaluation["mrr"],
        "valid rare hits@10": evaluation.buckets[-1]["hits@10"],
        "best epoch": run.info()["best"]["epoch"],
        "seconds": time.perf_counter() - started,
    }


def start_trial(options: argparse.Namespace, model: str, drawn: Mapping[str, float | str], seed: int) -> dict[str, Any]:
    """Run one trial in a process of its own and return its settings and metrics."""
    settings = [f"{key}={value}" for key, value in drawn.items()] + options.settings
    words = [sys.executable, "-m", "benchmarks.tuning", "--dataset", options.dataset, "--models", model]
    words += ["--seeds", str(seed), "--device", options.device, "--one", json.dumps(settings)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    line = done.stdout.strip().splitlines()[-1] if done.returncode == 0 else "{}"
    error = {} if done.returncode == 0 else {"error": done.stderr.strip().splitlines()[-1]}
    return {"model": model, "seed": seed, "settings": {**drawn}, **json.loads(line), **error}


def judge(trial: Mapping[str, Any]) -> float:
    """Return the criterion of a search; a failed trial comes last."""
    if "error" in trial:
        return 0.0
    return float(trial["valid mrr"] + trial["valid rare hits@10"]) / 2


def pick_best(paths: Sequence[Path], model: str, count: int) -> list[dict[str, float | str]]:
    """Return the settings of the best trials of a model in stored searches."""
    trials = [trial for path in paths for trial in json.loads(path.read_text(encoding="utf-8"))["trials"]]
    found: list[dict[str, float | str]] = []
    for trial in sorted((one for one in trials if one["model"] == model), key=judge, reverse=True):
        if trial["settings"] not in found:
            found.append(trial["settings"])
    return found[:count]


def choose(trials: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return each model's settings with the best mean validation MRR over seeds."""
    chosen: dict[str, dict[str, Any]] = {}
    for trial in trials:
        same = [one for one in trials if (one["model"], one["settings"]) == (trial["model"], trial["settings"])]
        mean = statistics.mean(one.get("valid mrr", 0.0) for one in same)
        if mean > chosen.get(trial["model"], {"mean": -1.0})["mean"]:
            chosen[trial["model"]] = {"settings": trial["settings"], "mean": mean, "trials": len(same)}
    return chosen


def plan_trials(options: argparse.Namespace) -> list[tuple[str, dict[str, float | str], int]]:
    """Return model, settings and seed of every trial."""
    if options.confirm:
        best = {model: pick_best(options.confirm, model, options.best) for model in options.models}
        return [(model, one, seed) for model, found in best.items() for one in found for seed in options.seeds]
    seed = options.seeds[0]
    drawn = {model: draw_trials(model, options.trials, seed, options.only) for model in options.models}
    return [(model, settings, seed) for model, trials in drawn.items() for settings in trials]


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--models", nargs="+", default=list(UNUSED))
    parser.add_argument("--trials", type=int, default=16, help="per model")
    parser.add_argument(
        "--confirm", nargs="*", type=Path, default=[], help="stored searches whose best trials are repeated"
    )
    parser.add_argument("--best", type=int, default=4, help="trials of each model that --confirm repeats")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="a search uses the first")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent trials")
    parser.add_argument("--threads", type=int, default=1, help="torch threads of each trial")
    parser.add_argument("--only", nargs="*", default=[], help="key=value,value: restricts the choices")
    parser.add_argument("--settings", nargs="*", default=[], help="key=value for all trials")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Search, and store every trial."""
    options = read_options()
    if options.one:
        settings, seed = json.loads(options.one), options.seeds[0]
        print(json.dumps(run_trial(options.dataset, options.models[0], settings, seed, options.device)))
        return
    config = {key: value for key, value in vars(options).items() if key not in ("one", "out") and value != []}
    config["confirm"] = [str(path) for path in options.confirm]
    record = start_record("tuning", options.seeds[0], config, ["torch", "numpy"])
    record["trials"] = []
    kind = "confirmed" if options.confirm else "search"
    out = options.out or RESULTS / f"tuning-{options.dataset}-{kind}.json"
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(start_trial, options, *one) for one in plan_trials(options)]):
            record["trials"].append(done.result())
            print(json.dumps(done.result()), flush=True)
            record["chosen"] = choose(record["trials"])
            write_record(record, out)


if __name__ == "__main__":
    main()
