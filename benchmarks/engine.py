"""Training, ranking and the choice of concepts on one GPU, at the paper's sizes, beside the bars set for them.

python -m benchmarks.engine                 # all, then docs by `python -m benchmarks.render`
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

import itransf
from benchmarks.records import RESULTS, start_record
from itransf.evaluation import rank_triples
from itransf.experiments.bench.clock import time_call
from itransf.experiments.bench.records import write_record
from itransf.experiments.bench.settings import PAPER, make_config
from itransf.fitting import build_model
from itransf.training import Trainer
from itransf.training.assignment import draw_sample, reassign
from itransf.training.losses import make_contrast_loss

FB15K = {**PAPER, "model.dim": 100, "model.concepts": 300, "training.batch_size": 1000, "training.learning_rate": 0.1}
WN18 = {**PAPER, "model.dim": 50, "model.concepts": 30, "training.batch_size": 1000, "training.learning_rate": 0.1}
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
RANKING_BAR, ASSIGNMENT_BAR = 0.7, 1.0


def make_trainer(dataset: str, settings: Mapping[str, Any], device: torch.device) -> Trainer:
    """Return a trainer at its first epoch."""
    graph, config = itransf.load(dataset, progress=False), make_config(settings)
    return Trainer(build_model(graph, config, device), graph, config)


def time_repeatedly(call: Callable[[], Any], device: torch.device, warmup: int, repetitions: int) -> list[float]:
    """Return the seconds each call took, the device's work included."""
    return [time_call(call, device) for _ in range(warmup + repetitions)][warmup:]


def describe(seconds: Sequence[float], bar: float | None) -> dict[str, Any]:
    """Return median, extremes and the bar."""
    median = statistics.median(seconds)
    return {
        "seconds": {"median": median, "low": min(seconds), "high": max(seconds), "repetitions": len(seconds)},
        "bar": bar,
        "met": None if bar is None else median <= bar,
    }


def measure_epochs(dataset: str, settings: Mapping[str, Any], device: torch.device, repetitions: int) -> list[float]:
    """Return the seconds of whole epochs: shuffling, corruption, updates and constraints."""
    trainer = make_trainer(dataset, settings, device)
    epochs = trainer.epochs()
    return time_repeatedly(lambda: next(epochs), device, 2, repetitions)


def measure_assignment(device: torch.device, repetitions: int) -> list[float]:
    """Return the seconds of the choice of concepts on FB15k: all triples, one negative, both sides."""
    trainer = make_trainer("fb15k", {**FB15K, "assignment.accept": "always"}, device)
    loss = make_contrast_loss(trainer.config.loss)

    def assign() -> None:
        sample = draw_sample(trainer.train, trainer.sampler, 0, 1, trainer.generator)
        reassign(trainer.model, sample, loss, trainer.config.assignment)

    return time_repeatedly(assign, device, 1, repetitions)


def measure_ranking(norm: int, device: torch.device, repetitions: int) -> list[float]:
    """Return the seconds of ranking all of FB15k's test triples on both sides."""
    trainer = make_trainer("fb15k", {**FB15K, "model.p_norm": norm}, device)
    graph = trainer.graph
    _ = graph.known
    return time_repeatedly(lambda: rank_triples(trainer.model, graph.test, graph.known), device, 1, repetitions)


def main() -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of what is measured")
    parser.add_argument("--out", type=Path, default=RESULTS / "benchmark-engine.json")
    options = parser.parse_args()
    device = torch.device(options.device)
    config = {"repetitions": options.repetitions, "device": options.device}
    record = start_record("engine", 0, config, ["torch", "triton", "numpy"])
    record["measures"] = {}
    work: dict[str, tuple[Callable[[], list[float]], float | None]] = {
        f"epoch: {name}": (
            lambda dataset=dataset, settings=settings: measure_epochs(dataset, settings, device, options.repetitions),
            bar,
        )
        for name, (dataset, settings, bar) in EPOCHS.items()
    }
    few = max(options.repetitions // 4, 1)
    work["assignment: FB15k, m 300"] = (lambda: measure_assignment(device, few), ASSIGNMENT_BAR)
    work["ranking: FB15k test, l1"] = (lambda: measure_ranking(1, device, few), RANKING_BAR)
    work["ranking: FB15k test, l2"] = (lambda: measure_ranking(2, device, few), None)
    for name, (measure, bar) in work.items():
        if options.only and not any(part in name for part in options.only):
            continue
        record["measures"][name] = describe(measure(), bar)
        print(f"{name}: {record['measures'][name]['seconds']['median']:.4f} s (bar {bar})", flush=True)
        write_record(record, options.out)


if __name__ == "__main__":
    main()
