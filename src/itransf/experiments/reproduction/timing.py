"""How long an epoch takes when nothing else runs, as something that can be measured for a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from itransf.config import Config
from itransf.experiments.bench.clock import time_call
from itransf.experiments.reproduction.jobs import Job
from itransf.experiments.reproduction.measuring import round_off
from itransf.experiments.reproduction.summaries import Floats
from itransf.experiments.reproduction.workshop import Workshop
from itransf.fitting import build_model
from itransf.run import choose_device
from itransf.training import Trainer
from itransf.training.assignment import is_due

WARM_UP, TIMED = 2, 10
"""Epochs that do not count, and the fewest that do."""
_ALONE = Lock()  # jobs of one kind run side by side; of these only one at a time


def time_epochs(job: Job, shop: Workshop) -> dict[str, Any]:
    """Time epochs of a fresh training: batches, updates and, after some of them, the choice of concepts."""
    config = shorten(job.resolve())
    graph, device = shop.load(job), choose_device(shop.device)
    with _ALONE:
        trainer = Trainer(build_model(graph, config, device), graph, config)
        epochs = trainer.epochs()
        seconds = [time_call(lambda: next(epochs), device) for _ in range(config.training.epochs)]
    counted = [round_off(value) for value in seconds[WARM_UP:]]
    engine = "plain" if trainer.engine is None else "fused"
    return {"config": job.resolve().to_dict(), "seconds_of_epochs": counted, "steps": engine}


@dataclass(frozen=True)
class EpochTimes:
    """How long the timed epochs of a job took, in seconds.

    Attributes:
        plain: Those after which no concepts were chosen.
        choosing: The others; there may be none.
        share: How many of a whole training's epochs are like the others.
    """

    plain: Floats
    choosing: Floats
    share: float

    @classmethod
    def read(cls, seconds: Sequence[float], job: Job) -> EpochTimes:
        """Tell the timed epochs of a job apart."""
        config = job.resolve()
        times, chosen = np.array(seconds), np.array(list_choices(shorten(config))[WARM_UP:])
        return cls(times[~chosen], times[chosen], float(np.mean(list_choices(config))))

    @property
    def count(self) -> int:
        """How many epochs were timed."""
        return self.plain.size + self.choosing.size

    @property
    def mean(self) -> float:
        """How long an epoch of a whole training takes on average."""
        return float(self.average(lambda times: times.mean(keepdims=True))[0])

    def average(self, average: Callable[[Floats], Floats]) -> Floats:
        """Return an average, or many, of each kind of epochs, both kinds counting as in a whole training."""
        if not self.choosing.size:
            return average(self.plain)
        return (1 - self.share) * average(self.plain) + self.share * average(self.choosing)


def list_choices(config: Config) -> list[bool]:
    """Return, for each epoch of a training, whether concepts are chosen after it."""
    epochs = config.training.epochs
    return [config.has_supports and is_due(config.assignment, epoch, epochs) for epoch in range(1, epochs + 1)]


def shorten(config: Config) -> Config:
    """Return settings for a few epochs, among them some after which concepts are chosen."""
    every = max(config.assignment.every, 1)
    timed = -(-TIMED // every) * every  # whole rounds of the choice
    return replace(
        config,
        training=replace(config.training, epochs=WARM_UP + timed, max_minutes=0.0),
        assignment=replace(config.assignment, start=1, stop=1.0),
    )
