"""Stopwatches: for endless work, with a warm-up that does not count, and for calls that a device works off later."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch


class TimeIsUpError(Exception):
    """Ends a training loop from within."""


class Clock:
    """Counts units of work between the end of the warm-up and the end of the time.

    Args:
        warmup: Seconds after the first unit that do not count.
        seconds: Seconds that count, at least one unit long.
        now: Where the time comes from.
    """

    def __init__(self, warmup: float, seconds: float, now: Callable[[], float] = time.perf_counter) -> None:
        self.warmup, self.seconds, self.now = warmup, seconds, now
        self.units, self.elapsed = 0, 0.0
        self._first: float | None = None
        self._started: float | None = None

    def count(self, units: int) -> None:
        """Take note of finished work; raise `TimeIsUpError` once enough of it has counted."""
        now = self.now()
        if self._started is None:
            self._first = now if self._first is None else self._first
            # The first unit sets things up (memory, threads), so it never counts.
            self._started = now if now - self._first >= self.warmup else None
            return
        self.units += units
        self.elapsed = now - self._started
        if self.elapsed >= self.seconds:
            raise TimeIsUpError


def time_call(call: Callable[[], object], device: torch.device) -> float:
    """Return the seconds a call takes, the device's work included."""
    _wait_for(device)
    started = time.perf_counter()
    call()
    _wait_for(device)
    return time.perf_counter() - started


def time_calls(call: Callable[[], object], device: torch.device, seconds: float) -> list[float]:
    """Return the seconds of each call, made again until so many seconds are spent; the first is not timed."""
    call()
    found = [time_call(call, device)]
    while sum(found) < seconds:
        found.append(time_call(call, device))
    return found


def _wait_for(device: torch.device) -> None:
    """Wait until the device has nothing left to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
