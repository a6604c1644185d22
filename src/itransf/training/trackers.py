"""Trackers: objects that receive the results of a training while it runs.

One of your own is a class with these three methods, named by `training.tracker` as an entry point of the group
`itransf.trackers` or as "package.module:Class".
"""

import logging
from typing import Any

logger = logging.getLogger("itransf.training")


class NoTracker:
    """Ignores everything."""

    def start(self, settings: dict[str, Any], graph: str) -> None:
        """Begin a training with these settings on the graph of this name."""

    def epoch(self, entry: dict[str, Any]) -> None:
        """Receive an epoch: phase, epoch, loss, seconds and, where it was validated, metric and best."""

    def finish(self, best: float | None) -> None:
        """End the training; `best` is the best validation metric."""


class LogTracker(NoTracker):
    """Writes to Python's logging, logger "itransf.training", level INFO."""

    def start(self, settings: dict[str, Any], graph: str) -> None:
        """Log the model and the graph."""
        logger.info("training %s on %s", settings["model"]["name"], graph)

    def epoch(self, entry: dict[str, Any]) -> None:
        """Log an epoch."""
        logger.info(" ".join(f"{key}={value}" for key, value in entry.items()))

    def finish(self, best: float | None) -> None:
        """Log the best validation metric."""
        logger.info("finished; best validation metric: %s", best)
