"""Shared by the speed benchmarks: clocks, peak memory, and training with the paper's settings."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from itransf.config import Config, assignments_layer, build_config
from itransf.data import Graph
from itransf.fitting import build_model
from itransf.training import Trainer

PROCESS = Path("/proc/self")  # Linux only
PAPER: Mapping[str, Any] = {
    "model.name": "itransf",
    "model.p_norm": 1,
    "model.entity_constraint": "unit",
    "model.projected_constraint": "unit",
    "loss.name": "hinge",
    "negatives.per_triple": 1,
    "negatives.sampler": "bernoulli",
    "negatives.filtered": "true",
    "model.matrix_lr_factor": 1.0,
    "training.optimizer": "sgd",
    "training.lr_decay": "none",
    "training.block_size": 1,
    "training.learning_rate": 0.1,
    "training.batch_size": 1000,
    "training.epochs": 10**6,  # the measurement stops training long before
    "assignment.every": 0,
    "validation.every": 0,
}
"""The paper's training, without anything that runs between epochs."""


def make_config(settings: Mapping[str, Any]) -> Config:
    """Return the paper's settings with these changes; None leaves a setting out, for models that lack it."""
    chosen = [f"{key}={value}" for key, value in {**PAPER, **settings}.items() if value is not None]
    return build_config([assignments_layer(chosen)])


def make_trainer(graph: Graph, config: Config, device: torch.device) -> Trainer:
    """Return a trainer before its first epoch."""
    return Trainer(build_model(graph, config, device), graph, config)


class TimeIsUpError(Exception):
    """Ends a training loop from within."""


class Clock:
    """Counts units of work between the end of the warm-up and the end of the time.

    Args:
        warmup: Seconds after the first unit that do not count.
        seconds: Seconds that count; at least one unit counts.
        now: Source of the time.
    """

    def __init__(self, warmup: float, seconds: float, now: Callable[[], float] = time.perf_counter) -> None:
        self.warmup, self.seconds, self.now = warmup, seconds, now
        self.units, self.elapsed = 0, 0.0
        self._first: float | None = None
        self._started: float | None = None

    def count(self, units: int) -> None:
        """Add finished work; raise `TimeIsUpError` once enough of it has counted."""
        now = self.now()
        if self._started is None:
            self._first = now if self._first is None else self._first
            # The first unit allocates memory and starts threads, so it never counts.
            self._started = now if now - self._first >= self.warmup else None
            return
        self.units += units
        self.elapsed = now - self._started
        if self.elapsed >= self.seconds:
            raise TimeIsUpError


def train_until(count: Callable[[int], None], trainer: Trainer) -> None:
    """Train until `count`, which is given the number of triples after each batch, raises `TimeIsUpError`."""
    size, total, before = trainer.config.training.batch_size, len(trainer.train), 0

    def count_triples() -> None:
        nonlocal before
        done = min(trainer.progress.batches * size, total)
        count(done - before)
        before = done % total

    with suppress(TimeIsUpError):
        for _ in trainer.epochs(after_batch=count_triples):
            pass


def time_call(call: Callable[[], object], device: torch.device) -> float:
    """Return the seconds a call takes, including the work of the device."""
    _synchronize(device)
    started = time.perf_counter()
    call()
    _synchronize(device)
    return time.perf_counter() - started


def time_calls(call: Callable[[], object], device: torch.device, seconds: float) -> list[float]:
    """Return the seconds of repeated calls that fill the given time; the first call is not timed."""
    call()
    found = [time_call(call, device)]
    while sum(found) < seconds:
        found.append(time_call(call, device))
    return found


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def reset_peak(device: torch.device) -> None:
    """Start measuring peak memory from what is allocated now."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    elif PROCESS.is_dir():
        (PROCESS / "clear_refs").write_text("5", encoding="ascii")


def read_peak(device: torch.device) -> int | None:
    """Return the peak bytes of tensors on a GPU, or of the whole process on a CPU; None outside Linux."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if not PROCESS.is_dir():
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", (PROCESS / "status").read_text(encoding="ascii"))
    return 1024 * int(found[1]) if found else None
