"""Runs: from settings to a trained model, saved, opened, queried, interpreted and changed."""

from __future__ import annotations

from itransf.run.ensemble import EnsembleRun
from itransf.run.opening import open_run, seal, train, train_final
from itransf.run.run import Run
from itransf.run.settings import choose_device, flatten, list_idle, list_rescheduled, read_given, resolve_config
from itransf.run.views import compare_valid

open = open_run

__all__ = [
    "EnsembleRun",
    "Run",
    "choose_device",
    "compare_valid",
    "flatten",
    "list_idle",
    "list_rescheduled",
    "open",
    "open_run",
    "read_given",
    "resolve_config",
    "seal",
    "train",
    "train_final",
]
