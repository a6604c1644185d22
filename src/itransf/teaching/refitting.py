"""A short training of a changed model, from the weights it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from itransf.config import Config, WarmStartConfig
from itransf.data.graph import Graph
from itransf.errors import check_count
from itransf.fitting import Fit
from itransf.models import Model
from itransf.training.trainer import weights

REFIT_EPOCHS = 5
REFIT_RATE = 0.1  # of the training's own: a higher one undoes more than a few epochs mend
PHASE = "re-fit"


@torch.inference_mode(mode=False)
@torch.enable_grad()
def refit(
    model: Model, graph: Graph, config: Config, epochs: int = REFIT_EPOCHS, progress: bool = False
) -> tuple[Model, list[dict[str, Any]]]:
    """Return the model trained further with the run's own settings, at a lower rate, and the history of that.

    Supports are chosen anew in the first half of the epochs, under the rules that the model holds.

    Args:
        model: Where to start; it stays as it is.
        graph: What is learned.
        config: The run's settings.
        epochs: How many more.
        progress: Whether to show it.

    Raises:
        ConfigError: The number of epochs is none.
    """
    epochs = check_count("epochs", epochs)
    device = next(model.parameters()).device
    fit = Fit(graph, shorten(config, epochs), device, progress=progress, start=weights(model))
    fitted = fit.run()
    return fitted, [{**line, "phase": PHASE} for line in fit.history]


def shorten(config: Config, epochs: int) -> Config:
    """Return the settings of a re-fit: few epochs at a lower rate, none averaged, no warm start, a look after each."""
    training = config.training
    return replace(
        config,
        training=replace(
            training, epochs=epochs, learning_rate=REFIT_RATE * training.learning_rate, weight_averaging=0.0
        ),
        assignment=replace(config.assignment, start=1, every=min(config.assignment.every, 1), stop=0.5),
        warm_start=WarmStartConfig(),
        validation=replace(config.validation, every=1, patience=0),
    )
