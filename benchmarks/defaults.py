"""Test results with the default settings: several models and seeds on a dataset.

python -m benchmarks.defaults --dataset world --models transe stranse itransf icomplex --seeds 0 1 2 3 4
python -m benchmarks.defaults --dataset fb15k-237 --device cuda --models icomplex --seeds 0 1 2 --control
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import mean, stdev
from typing import Any

import itransf
from benchmarks.control import train_control
from benchmarks.markdown import make_table
from benchmarks.records import RESULTS, Record, start_record, write_record

METRICS = ("mr", "mrr", "hits@1", "hits@3", "hits@10", "rare hits@10")
TITLES = ["model", "seeds", "MR", "MRR", "Hits@1", "Hits@3", "Hits@10", "rare Hits@10", "training, s"]


def measure(dataset: str, device: str, model: str, seed: int) -> dict[str, Any]:
    """Train one model with the defaults and return its metrics; the time includes a first compilation."""
    graph = itransf.load(dataset)
    started = time.perf_counter()
    run = itransf.train(graph, settings=[f"model.name={model}"], seed=seed, device=device, progress=False)
    seconds = time.perf_counter() - started
    evaluation = run.evaluate()
    metrics = {name: evaluation[name] for name in METRICS[:-1]} | {METRICS[-1]: evaluation.buckets[-1]["hits@10"]}
    found = {"valid": run.evaluate("valid")["mrr"], **metrics, "curve": draw_curve(run, seconds)}
    return {"model": model, "seed": seed, "seconds": seconds, **found, "config": run.config.to_dict()}


def time_imports() -> float:
    """Return how long a new process takes to import what training needs, in seconds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import itransf; itransf.train"], check=True)
    return time.perf_counter() - started


def draw_curve(run: itransf.Run, seconds: float) -> list[dict[str, float]]:
    """Return the validation metric and the time at which it was measured; what precedes the first epoch counts."""
    spent = seconds - sum(line["seconds"] for line in run.history)
    curve = []
    for line in run.history:
        spent += line["seconds"]
        if "metric" in line:
            curve.append({"seconds": spent, "mrr": line["metric"]})
    return curve


def measure_control(graph: itransf.Graph, device: str, run: dict[str, Any]) -> dict[str, Any]:
    """Train the control with the dimension, weight of N3 and number of epochs of a run."""
    config = run["config"]
    epochs = config["training"]["epochs"] + config["warm_start"]["epochs"]
    settings = config["model"]["dim"], config["regularizer"]["weight"], epochs
    return {"run": run["seed"], **train_control(graph, *settings, run["seed"], device)}


def render(record: Record) -> str:
    """Return the section of docs/defaults.md."""
    runs, rows = record["runs"], []
    for model in dict.fromkeys(run["model"] for run in runs):
        chosen = [run for run in runs if run["model"] == model]
        cells = [format_spread([run[name] for run in chosen], name) for name in METRICS]
        rows.append([model, str(len(chosen)), *cells, f"{mean(run['seconds'] for run in chosen):.0f}"])
    control = record.get("control")
    if control is not None:
        test = control["test"]
        cells = [format_spread([test[name]], name) if name in test else "" for name in METRICS]
        rows.append(["control", "1", *cells, f"{control['seconds']:.0f}"])
    hardware, commit = record["hardware"], str(record["git"]["commit"])[:9]
    cores = f"{hardware['cores']} cores {hardware['cpu']}"
    machine = hardware["gpu"] if record["config"]["device"] == "cuda" else cores
    where = f"{record['date'][:10]}, commit {commit}, {machine}"
    title = f"{record['config']['dataset']}, {'GPU' if record['config']['device'] == 'cuda' else 'CPU'}"
    table = make_table(TITLES, rows)
    return f"### {title}\n\n`{record['command']}`, {where}.\n\n{table}\n{describe_times(record)}\n"


def describe_times(record: Record) -> str:
    """Return sentences on the time of imports and of the first run, and on validation beside the control."""
    runs, control = record["runs"], record.get("control")
    sentences = [f"The first run, of {runs[0]['model']}, took {runs[0]['seconds']:.0f} s, including any compilation."]
    if "imports" in record:
        sentences.append(f"Loading PyTorch took {record['imports']:.1f} s more.")
    if control is not None:
        ours = [run for run in runs if run["model"] == runs[0]["model"]]
        values, seconds = ([f"{run[key]:.{digits}f}" for run in ours] for key, digits in (("valid", 4), ("seconds", 0)))
        last = control["curve"][-1]
        sentences.append(
            f"Validation MRR of the control: {last['mrr']:.4f} after {last['seconds']:.0f} s; "
            f"of {ours[0]['model']}, by seed: {', '.join(values)} after {', '.join(seconds)} s."
        )
    return "\n" + " ".join(sentences)


def format_spread(values: Sequence[float], name: str) -> str:
    """Return the mean and the standard deviation of a metric."""
    factor, digits = (100, 1) if "hits" in name else (1, 1 if name == "mr" else 4)
    scaled = [factor * value for value in values]
    spread = f" ± {stdev(scaled):.{digits}f}" if len(scaled) > 1 else ""
    return f"{mean(scaled):.{digits}f}{spread}"


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="world")
    parser.add_argument("--models", nargs="+", default=["transe", "stranse", "itransf"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--control", action="store_true", help="train a plain PyTorch ComplEx beside the first run")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent trainings, each in its own process")
    options = parser.parse_args()
    record = start_record("defaults", options.seeds[0], vars(options), ["torch", "numpy"])
    graph = itransf.load(options.dataset)
    configs = {
        model: itransf.run.resolve_config(graph, settings=[f"model.name={model}"], device=options.device)
        for model in options.models
    }
    record["imports"] = time_imports()
    record["settings"] = {model: config.to_dict() for model, config in configs.items()}
    asked = [
        (options.dataset, options.device, model, seed)
        for seed, model in itertools.product(options.seeds, options.models)
    ]
    with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
        record["runs"] = list(pool.map(measure, *zip(*asked, strict=True)))
    if options.control:
        record["control"] = measure_control(graph, options.device, record["runs"][0])
    mark = "" if options.device == "cpu" else f"-{options.device}"
    write_record(record, RESULTS / f"benchmark-defaults-{options.dataset}{mark}.json")


if __name__ == "__main__":
    main()
