"""This package's training and ranking, through the code of `itransf train` and `itransf evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.contenders import Stopwatch, Task
from benchmarks.speed import PAPER, make_config, make_trainer, train_until
from itransf.config import Config
from itransf.data.graph import Triples
from itransf.evaluation import rank_triples
from itransf.fitting import build_model
from itransf.models import MODELS, Translation

CPU = torch.device("cpu")


def configure(task: Task) -> Config:
    """Return the settings of a task; nothing runs between epochs, so that only updates are timed."""
    settings: dict[str, Any] = {
        "seed": task.seed,
        "model.name": task.model,
        "model.dim": task.dim,
        "training.batch_size": task.batch_size,
        "training.block_size": task.block_size,
        "training.learning_rate": task.learning_rate,
        "loss.margin": task.margin,
    }
    if issubclass(MODELS[task.model], Translation):
        settings |= {"model.p_norm": task.norm}
        settings |= {"model.projected_constraint": "none" if task.model == "transe" else "unit"}
    else:
        settings |= dict.fromkeys(key for key in PAPER if key.startswith("model.") and key != "model.name")
    if task.model == "itransf":
        settings |= {"model.concepts": task.concepts, "model.support_size": task.support_size}
    if task.loss == "cross_entropy":
        settings |= {"loss.name": task.loss, "loss.candidates": 0, "negatives.filtered": "false"}
    return make_config(settings)


def train(task: Task, clock: Stopwatch) -> None:
    """Train until the clock stops it."""
    train_until(clock.count, make_trainer(task.load(), configure(task), CPU))


def prepare_ranking(task: Task) -> Callable[[Triples], None]:
    """Return a function that ranks triples with a new model."""
    graph = task.load()
    model, known = build_model(graph, configure(task), CPU).eval(), graph.known

    def rank(triples: Triples) -> None:
        rank_triples(model, triples, known)

    return rank
