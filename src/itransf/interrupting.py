"""Interrupts: Ctrl-C, and one training's wish that the others end, heard between two batches."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

_stop = Event()  # asks trainings outside the main thread to save and end


@contextmanager
def noticing_interrupts() -> Iterator[Event]:
    """Turn the first Ctrl-C, or wish of the system to end, into an event, so that a batch is finished and saved.

    A second one stops at once.

    Signals reach only the main thread: elsewhere `stopping_all_trainings` sets the event.
    """
    if threading.current_thread() is not threading.main_thread():
        yield _stop
        return
    event = Event()

    def notice(number: int, frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = {number: signal.signal(number, notice) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def stopping_all_trainings() -> Iterator[None]:
    """Let every training outside the main thread save where it stands and end, while the block runs."""
    _stop.set()
    try:
        yield
    finally:
        _stop.clear()
