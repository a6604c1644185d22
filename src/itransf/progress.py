"""Long work: its progress, shown as a bar on a terminal and as plain lines elsewhere, and its interruption."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

PLAIN_INTERVAL = 10.0  # seconds between two plain lines


class Tracker:
    """Counts finished work without showing it; subclasses show it.

    The clock of rate and time left starts when the first piece of work is finished: the time until then is loading and
    compiling, and work of an earlier process (`done`) took no time of this one.
    """

    def __init__(self, title: str, total: int, unit: str, done: int = 0) -> None:
        self.title, self.total, self.unit, self.done = title, total, unit, done
        self.note = ""
        self.started = self._last_shown = time.monotonic()
        self._clock: tuple[float, int] | None = None  # when the first piece was finished, and what was done then

    def advance(self, amount: int = 1, note: str | None = None) -> None:
        """Count `amount` more as done; `note` replaces the remark beside the count."""
        self.done += amount
        if self._clock is None:
            self._clock = time.monotonic(), self.done
        if note is not None:
            self.note = note
        self.show()

    def rate(self) -> float | None:
        """Return the units finished per second, or None while that is unknown."""
        if self._clock is None or self.done == self._clock[1]:
            return None
        return (self.done - self._clock[1]) / max(time.monotonic() - self._clock[0], 1e-9)

    def describe_pace(self) -> str:
        """Return rate and time left, or an empty string while they are unknown."""
        rate = self.rate()
        if rate is None:
            return ""
        pace = f"{rate:,.1f}/s" if rate >= 1 else f"{1 / rate:,.1f} s each"
        return f", {pace}, {write_duration(max(self.total - self.done, 0) / rate)} left"

    def show(self) -> None:
        """Show the current state."""

    def say(self, line: str) -> None:
        """Show a line that stays."""

    def close(self) -> None:
        """Show the final state."""


def write_duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours."""
    units = ((90.0, 1.0, "s"), (5400.0, 60.0, "min"), (float("inf"), 3600.0, "h"))
    size, unit = next((size, unit) for limit, size, unit in units if seconds < limit)
    return f"{max(seconds / size, 1):,.0f} {unit}"


_current: ContextVar[Tracker] = ContextVar("current", default=Tracker("", 0, ""))  # noqa: B039 (nobody advances it)


def current_tracker() -> Tracker:
    """Return the tracker of the innermost work whose progress is shown, or one that shows nothing."""
    return _current.get()


class _PlainTracker(Tracker):
    """Prints a line every few seconds: for logs, pipes and CI."""

    def show(self) -> None:
        if self.done < self.total and time.monotonic() - self._last_shown >= PLAIN_INTERVAL:
            self._last_shown = time.monotonic()
            self._print(self.describe_pace())

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        self._print(f" in {time.monotonic() - self.started:,.1f} s")

    def _print(self, pace: str) -> None:
        self.say(f"{self.title}: {self.done:,}/{self.total:,} {self.unit}{pace}{f'  {self.note}' if self.note else ''}")


class _BarTracker(Tracker):
    """Keeps one line of a terminal up to date."""

    def __init__(self, title: str, total: int, unit: str, done: int, bar: Progress) -> None:
        super().__init__(title, total, unit, done)
        self._bar = bar
        self._task = bar.add_task(title, total=total, completed=done, unit=unit, pace="", note="")

    def show(self) -> None:
        self._bar.update(self._task, completed=self.done, pace=self.describe_pace(), note=self.note)

    def say(self, line: str) -> None:
        self._bar.console.print(line, highlight=False, markup=False)


@contextmanager
def track(title: str, total: int, unit: str = "steps", shown: bool = True, done: int = 0) -> Iterator[Tracker]:
    """Show the progress of the block on stderr; yield the tracker to advance.

    Args:
        title: Description of the work in a few words.
        total: Number of units.
        unit: Plural of what is counted.
        shown: False counts without showing.
        done: Units that an earlier process has finished.
    """
    if not shown:
        yield Tracker(title, total, unit, done)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        with _as_current(_PlainTracker(title, total, unit, done)) as plain:
            yield plain
        plain.close()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[unit]}{task.fields[pace]}"),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    with Progress(*columns, console=console) as bar, _as_current(_BarTracker(title, total, unit, done, bar)) as tracker:
        yield tracker


@contextmanager
def _as_current(tracker: Tracker) -> Iterator[Tracker]:
    """Let `current_tracker` return this one while the block runs."""
    token = _current.set(tracker)
    try:
        yield tracker
    finally:
        _current.reset(token)


STOP = Event()
"""Asks trainings outside the main thread to save and end, while it is set."""


@contextmanager
def noticing_interrupts() -> Iterator[Event]:
    """Turn the first SIGINT or SIGTERM into an event, so that a batch can be finished and saved; the second interrupts.

    Signals reach only the main thread: elsewhere `STOP` is the event.
    """
    if threading.current_thread() is not threading.main_thread():
        yield STOP
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
