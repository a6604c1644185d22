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
import multiprocessing
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import torch

import itransf
from benchmarks.records import RESULTS, start_record, write_record

Settings = dict[str, float | str]
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


def draw_trials(model: str, count: int, seed: int, only: Sequence[str] = ()) -> list[Settings]:
    """Return `count` different draws of the settings a model has.

    Args:
        model: Name of the model.
        count: Number of draws; all there are, if there are fewer.
        seed: Random seed.
        only: Restrictions such as "model.concepts=8,16".
    """
    allowed = {key: values.split(",") for key, _, values in (text.partition("=") for text in only)}
    if not allowed.keys() <= CHOICES.keys():
        raise SystemExit(f"--only takes {', '.join(CHOICES)}")
    choices = {
        key: [value for value in values if str(value) in allowed.get(key, [str(value)])]
        for key, values in CHOICES.items()
        if key not in UNUSED[model]
    }
    generator, found = random.Random(f"{model} {seed}"), list[Settings]()
    while len(found) < min(count, math.prod(map(len, choices.values()))):
        drawn = {key: generator.choice(values) for key, values in choices.items()}
        if drawn not in found:
            found.append(drawn)
    return found


def run_trial(options: argparse.Namespace, model: str, drawn: Settings, seed: int) -> dict[str, Any]:
    """Train once and return the validation metrics, or the error."""
    settings = [f"model.name={model}", *(f"{key}={value}" for key, value in drawn.items()), *options.settings]
    trial = {"model": model, "seed": seed, "settings": drawn}
    started = time.perf_counter()
    try:
        graph = itransf.load(options.dataset, progress=False)
        run = itransf.train(graph, settings=settings, seed=seed, device=options.device, progress=False)
        evaluation = run.evaluate("valid")
    except (itransf.ITransFError, RuntimeError) as error:
        return {**trial, "error": str(error)}
    return {
        **trial,
        "valid mrr": evaluation["mrr"],
        "valid rare hits@10": evaluation.buckets[-1]["hits@10"],
        "best epoch": run.info()["best"]["epoch"],
        "seconds": time.perf_counter() - started,
    }


def judge(trial: Mapping[str, Any]) -> float:
    """Return the criterion of a search; a failed trial comes last."""
    return 0.0 if "error" in trial else float(trial["valid mrr"] + trial["valid rare hits@10"]) / 2


def pick_best(paths: Sequence[Path], model: str, count: int) -> list[Settings]:
    """Return the settings of the best trials of a model in stored searches."""
    trials = [trial for path in paths for trial in json.loads(path.read_text(encoding="utf-8"))["trials"]]
    found: list[Settings] = []
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


def plan_trials(options: argparse.Namespace) -> list[tuple[str, Settings, int]]:
    """Return the model, settings and seed of every trial."""
    if options.confirm:
        best = {model: pick_best(options.confirm, model, options.best) for model in options.models}
        return [(model, one, seed) for model, found in best.items() for one in found for seed in options.seeds]
    seed = options.seeds[0]
    drawn = {model: draw_trials(model, options.trials, seed, options.only) for model in options.models}
    return [(model, settings, seed) for model, trials in drawn.items() for settings in trials]


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--models", nargs="+", default=list(UNUSED))
    parser.add_argument("--trials", type=int, default=16, help="per model")
    parser.add_argument("--confirm", nargs="*", type=Path, default=[], help="stored searches to repeat the best of")
    parser.add_argument("--best", type=int, default=4, help="trials of each model that --confirm repeats")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="a search uses the first")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent trials, each in its own process")
    parser.add_argument("--threads", type=int, default=1, help="torch threads of each trial")
    parser.add_argument("--only", nargs="*", default=[], help="key=value,value: restricts the choices")
    parser.add_argument("--settings", nargs="*", default=[], help="key=value for all trials")
    parser.add_argument("--out", type=Path, default=None)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, and store every trial."""
    options = read_options(arguments)
    config = {key: value for key, value in vars(options).items() if key != "out" and value != []}
    config["confirm"] = [str(path) for path in options.confirm]
    record = start_record("tuning", options.seeds[0], config, ["torch", "numpy"])
    record["trials"] = []
    kind = "confirmed" if options.confirm else "search"
    out = options.out or RESULTS / f"tuning-{options.dataset}-{kind}.json"
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, spawn, torch.set_num_threads, (options.threads,)) as pool:
        tasks = [pool.submit(run_trial, options, *one) for one in plan_trials(options)]
        for done in as_completed(tasks):
            record["trials"].append(done.result())
            print(json.dumps(done.result()), flush=True)
            record["chosen"] = choose(record["trials"])
            write_record(record, out)


if __name__ == "__main__":
    main()
