"""The paper's recipe as settings for measurements: nothing runs between updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from itransf.config import Config, assignments_layer, build_config
from itransf.experiments.bench.costs import Shape

ENDLESS = 10**6  # epochs; whoever measures stops long before
PAPER: Mapping[str, Any] = {
    "model.name": "itransf",
    "model.p_norm": 1,
    "model.support_size": 5,
    "model.entity_constraint": "unit",
    "model.projected_constraint": "unit",
    "loss.name": "hinge",
    "negatives.per_triple": 1,
    "negatives.sampler": "bernoulli",
    "training.optimizer": "sgd",
    "training.learning_rate": 0.1,
    "training.epochs": ENDLESS,
    "assignment.every": 0,
    "validation.every": 0,
}


def make_config(settings: Mapping[str, Any]) -> Config:
    """Return the whole configuration of dotted settings."""
    return build_config([assignments_layer([f"{key}={value}" for key, value in settings.items()])])


def configure(shape: Shape, seed: int = 0) -> Config:
    """Return the paper's recipe at these sizes."""
    return make_config(
        {
            **PAPER,
            "seed": seed,
            "model.dim": shape.dim,
            "model.concepts": shape.concepts,
            "model.support_size": shape.support_size,
            "training.batch_size": shape.batch_size,
        }
    )
