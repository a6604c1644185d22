"""Speed of training, ranking and concept assignment on one GPU at the paper's sizes, with time limits.

python -m benchmarks.engine                 # all; then `python -m benchmarks.render`
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

import itransf
from benchmarks.markdown import describe_setting, format_verdict, make_table
from benchmarks.records import RESULTS, Record, start_record, write_record
from benchmarks.speed import make_config, make_trainer, time_call
from itransf.evaluation import rank_triples
from itransf.training import Trainer
from itransf.training.assignment import draw_sample, reassign
from itransf.training.losses import make_contrast_loss

FB15K = {"model.dim": 100, "model.concepts": 300, "model.support_size": 5}
WN18 = {"model.dim": 50, "model.concepts": 30, "model.support_size": 5}
MODERN = {
    **FB15K,
    "model.entity_constraint": "none",
    "model.projected_constraint": "none",
    "loss.name": "self_adversarial",
    "loss.margin": 9,
    "negatives.per_triple": 128,
    "training.batch_size": 2048,
    "training.optimizer": "adam",
    "training.learning_rate": 0.001,
}
EPOCHS: dict[str, tuple[str, dict[str, Any], float | None]] = {
    "FB15k, m 300, batch 1000": ("fb15k", FB15K, 0.15),
    "FB15k, m 15, batch 1000": ("fb15k", {**FB15K, "model.concepts": 15}, None),
    "WN18, m 30, batch 1000": ("wn18", WN18, 0.03),
    "WN18, m 30, batch 20": ("wn18", {**WN18, "training.batch_size": 20, "training.learning_rate": 0.01}, 1.0),
    "FB15k, 128 negatives, batch 2048": ("fb15k", MODERN, 0.5),
}
"""Dataset, settings and time limit in seconds of each epoch that is timed."""
RANKING_LIMIT, ASSIGNMENT_LIMIT = 0.7, 1.0
FEW, MANY = "epoch: FB15k, m 15, batch 1000", "epoch: FB15k, m 300, batch 1000"
FLATNESS = 1.2  # largest allowed ratio of the two
TEXT = (
    "Seconds: the median, the lowest and the highest. One epoch is every training triple once: shuffling, filtered "
    "Bernoulli negative sampling, all updates and constraints. The assignment step is timed separately, over all "
    "training triples with one negative each. Ranking is filtered, on both sides of all test triples, with the "
    "parameters on the device. Settings are the paper's (hinge loss, SGD, l1, k 5, one negative, unit-length "
    "embeddings), except in the row with 128 negatives per triple (self-adversarial loss, Adam, no constraints)."
)
Measure = Callable[[], list[float]]


def load_trainer(dataset: str, settings: Mapping[str, Any], device: torch.device) -> Trainer:
    """Return a trainer before its first epoch."""
    return make_trainer(itransf.load(dataset, progress=False), make_config(settings), device)


def time_repeatedly(call: Callable[[], Any], device: torch.device, warmup: int, repetitions: int) -> list[float]:
    """Return the seconds of each call after the warm-up calls."""
    return [time_call(call, device) for _ in range(warmup + repetitions)][warmup:]


def measure_epochs(dataset: str, settings: Mapping[str, Any], device: torch.device, repetitions: int) -> list[float]:
    """Return the seconds of whole epochs."""
    epochs = load_trainer(dataset, settings, device).epochs()
    return time_repeatedly(lambda: next(epochs), device, 2, repetitions)


def measure_assignment(device: torch.device, repetitions: int) -> list[float]:
    """Return the seconds of the assignment step on FB15k: all triples, one negative, both sides."""
    trainer = load_trainer("fb15k", {**FB15K, "assignment.accept": "always"}, device)
    loss = make_contrast_loss(trainer.config.loss)

    def assign() -> None:
        sample = draw_sample(trainer.train, trainer.sampler, 0, 1, trainer.generator)
        reassign(trainer.model, sample, loss, trainer.config.assignment)

    return time_repeatedly(assign, device, 1, repetitions)


def measure_ranking(norm: int, device: torch.device, repetitions: int) -> list[float]:
    """Return the seconds of ranking all test triples of FB15k on both sides."""
    trainer = load_trainer("fb15k", {**FB15K, "model.p_norm": norm}, device)
    test, known = trainer.graph.test, trainer.graph.known
    return time_repeatedly(lambda: rank_triples(trainer.model, test, known), device, 1, repetitions)


def describe(seconds: Sequence[float], limit: float | None) -> dict[str, Any]:
    """Return the median, the extremes and whether the limit is met."""
    median = statistics.median(seconds)
    return {
        "seconds": {"median": median, "low": min(seconds), "high": max(seconds), "repetitions": len(seconds)},
        "bar": limit,
        "met": None if limit is None else median <= limit,
    }


def render(record: Record) -> str:
    """Return the section of docs/performance.md."""
    measures, rows = record["measures"], []
    for name, found in measures.items():
        seconds, limit = found["seconds"], found["bar"]
        judged = [f"at most {limit:g} s", format_verdict(found["met"])] if limit is not None else ["", ""]
        rows.append([name, f"{seconds['median']:.4f}", f"{seconds['low']:.4f} to {seconds['high']:.4f}", *judged])
    if FEW in measures and MANY in measures:
        medians = [measures[name]["seconds"]["median"] for name in (FEW, MANY)]
        ratio = max(medians) / min(medians)
        verdict = format_verdict(ratio <= FLATNESS)
        rows.append(["m 15 against m 300, FB15k", f"{ratio:.2f}x", "", f"within {FLATNESS:g}x", verdict])
    setting = "\n".join(describe_setting(record))
    table = make_table(["what", "median (s)", "low to high (s)", "limit", ""], rows)
    return f"## On a GPU\n\n{setting}\n\n{TEXT}\n\n{table}"


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of the measurements to run")
    parser.add_argument("--out", type=Path, default=RESULTS / "benchmark-engine.json")
    options = parser.parse_args()
    device, repetitions = torch.device(options.device), options.repetitions
    record = start_record(
        "engine", 0, {"repetitions": repetitions, "device": options.device}, ["torch", "triton", "numpy"]
    )
    work: dict[str, tuple[Measure, float | None]] = {
        f"epoch: {name}": (partial(measure_epochs, dataset, settings, device, repetitions), limit)
        for name, (dataset, settings, limit) in EPOCHS.items()
    }
    few = max(repetitions // 4, 1)
    work["assignment: FB15k, m 300"] = partial(measure_assignment, device, few), ASSIGNMENT_LIMIT
    work["ranking: FB15k test, l1"] = partial(measure_ranking, 1, device, few), RANKING_LIMIT
    work["ranking: FB15k test, l2"] = partial(measure_ranking, 2, device, few), None
    record["measures"] = {}
    for name, (measure, limit) in work.items():
        if not options.only or any(part in name for part in options.only):
            record["measures"][name] = describe(measure(), limit)
            print(f"{name}: {record['measures'][name]['seconds']['median']:.4f} s (limit {limit})", flush=True)
            write_record(record, options.out)


if __name__ == "__main__":
    main()
