"""How long an epoch takes when nothing else runs, as something that can be measured for a job."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from itransf.config import Config
from itransf.experiments.bench.clock import time_call
from itransf.experiments.reproduction.jobs import Job
from itransf.experiments.reproduction.measuring import round_off
from itransf.fitting import build_model
from itransf.run import choose_device
from itransf.training import Trainer

if TYPE_CHECKING:
    from itransf.experiments.reproduction.methods import Workshop

WARM_UP, TIMED = 2, 10
"""Epochs that do not count, and the fewest that do."""
_ALONE = Lock()  # jobs of one kind run side by side; of these only one at a time


def time_epochs(job: Job, shop: Workshop) -> dict[str, Any]:
    """Time epochs of a fresh training: batches, updates, and the choice of concepts as often as it is made."""
    config = shorten(job.resolve())
    graph, device = shop.load(job), choose_device(shop.device)
    with _ALONE:
        trainer = Trainer(build_model(graph, config, device), graph, config)
        epochs = trainer.epochs()
        seconds = [time_call(lambda: next(epochs), device) for _ in range(config.training.epochs)]
    counted = [round_off(value) for value in seconds[WARM_UP:]]
    engine = "plain" if trainer.engine is None else "fused"
    return {"config": job.resolve().to_dict(), "seconds_of_epochs": counted, "steps": engine}


def shorten(config: Config) -> Config:
    """Return settings for a few epochs in which concepts are chosen as often as in a whole training."""
    every = max(config.assignment.every, 1)
    timed = -(-TIMED // every) * every  # whole rounds of the choice
    return replace(
        config,
        training=replace(config.training, epochs=WARM_UP + timed, max_minutes=0.0),
        assignment=replace(config.assignment, start=1, stop=1.0),
    )
