"""Runs, the one place that knows everything: settings to trained model, opened again, asked, read and changed."""

from __future__ import annotations

from itransf.run.idle import list_idle
from itransf.run.opening import open_run
from itransf.run.resuming import list_moved
from itransf.run.run import Run
from itransf.run.settings import MODEL_CONFIGS, choose_device, read_given, resolve_config
from itransf.run.training import train

open = open_run

__all__ = [
    "MODEL_CONFIGS",
    "Run",
    "choose_device",
    "list_idle",
    "list_moved",
    "open",
    "open_run",
    "read_given",
    "resolve_config",
    "train",
]
