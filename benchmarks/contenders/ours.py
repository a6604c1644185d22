"""This package's own training and ranking, through the code that `itransf train` and `evaluate` run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.tasks import Stopwatch, Task, Triples, load_graph
from itransf.config import Config, Layer, build_config
from itransf.evaluation import rank_triples
from itransf.experiments.bench.running import train_until
from itransf.fitting import build_model
from itransf.training import Trainer

ENDLESS = 10**6  # epochs; the clock stops long before


def describe_settings(task: Task) -> dict[str, Any]:
    """Return the settings that matter for speed, all written out."""
    model: dict[str, Any] = {
        "name": task.model,
        "dim": task.dim,
        "norm": task.norm,
        "entity_constraint": "unit",
        "projected_constraint": "none" if task.model == "transe" else "unit",
    }
    if task.model == "itransf":
        model |= {"concepts": task.concepts, "support_size": task.support_size, "attention": "sparse"}
    return {
        "seed": task.seed,
        "model": model,
        "training": {
            "epochs": ENDLESS,
            "batch_size": task.batch_size,
            "block_size": task.block_size,
            "optimizer": "sgd",
            "learning_rate": task.learning_rate,
        },
        "loss": {"kind": "hinge", "margin": task.margin},
        "negatives": {"per_triple": 1, "corrupt": "bernoulli"},
        # Updates alone are timed: what runs between epochs, on its own schedule, is not.
        "assignment": {"every": 0},
        "validation": {"every": 0},
    }


def make_config(task: Task) -> Config:
    """Return the whole configuration."""
    return build_config([Layer("benchmark", describe_settings(task))])


def train(task: Task, clock: Stopwatch) -> None:
    """Train until the clock stops it."""
    graph, config = load_graph(task), make_config(task)
    trainer = Trainer(build_model(graph, config, torch.device("cpu")), graph, config)
    train_until(clock.count, trainer)


def prepare_ranking(task: Task) -> Callable[[Triples], None]:
    """Return what ranks triples with a fresh model."""
    graph, config = load_graph(task), make_config(task)
    model, known = build_model(graph, config, torch.device("cpu")).eval(), graph.known

    def rank(triples: Triples) -> None:
        rank_triples(model, triples, known)

    return rank
