"""Progress of long work: a bar with rate and time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

PLAIN_INTERVAL = 10.0  # seconds between two plain lines


class Tracker:
    """Counts finished work and shows it nowhere; the other trackers add the showing."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        self.title, self.total, self.unit = title, total, unit
        self.done = 0
        self.note = ""
        self.started = time.monotonic()

    def advance(self, amount: int = 1, note: str | None = None) -> None:
        """Count `amount` more as done; `note` replaces the remark beside the count."""
        self.done += amount
        if note is not None:
            self.note = note
        self.show()

    def rate(self) -> float:
        """Return units done per second since the start."""
        return self.done / max(time.monotonic() - self.started, 1e-9)

    def show(self) -> None:
        """Show where things stand."""

    def say(self, line: str) -> None:
        """Show a line that stays."""

    def close(self) -> None:
        """Say the last word."""


_current: ContextVar[Tracker] = ContextVar("current", default=Tracker("", 0, ""))  # noqa: B039 (nobody advances it)


def current_tracker() -> Tracker:
    """Return the tracker of the innermost work whose progress is shown, or one that shows nothing."""
    return _current.get()


class _PlainTracker(Tracker):
    """Prints a line now and then: for logs, pipes and CI."""

    def __init__(self, title: str, total: int, unit: str) -> None:
        super().__init__(title, total, unit)
        self._last_shown = self.started

    def show(self) -> None:
        if time.monotonic() - self._last_shown >= PLAIN_INTERVAL:
            self._print()

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        self._print()

    def _print(self) -> None:
        self._last_shown = time.monotonic()
        rate = self.rate()
        left = max(self.total - self.done, 0) / rate if rate else 0.0
        remark = f"  {self.note}" if self.note else ""
        self.say(f"{self.title}: {self.done:,}/{self.total:,} {self.unit}, {rate:,.1f}/s, {left:,.0f} s left{remark}")


class _BarTracker(Tracker):
    """Keeps one line of a terminal up to date."""

    def __init__(self, title: str, total: int, unit: str, bar: Progress) -> None:
        super().__init__(title, total, unit)
        self._bar = bar
        self._task: TaskID = bar.add_task(title, total=total, unit=unit, rate="", note="")

    def show(self) -> None:
        self._bar.update(self._task, completed=self.done, rate=f"{self.rate():,.1f}/s", note=self.note)

    def say(self, line: str) -> None:
        self._bar.console.print(line, highlight=False, markup=False)


@contextmanager
def track(title: str, total: int, unit: str = "steps", shown: bool = True) -> Iterator[Tracker]:
    """Show the progress of the block on stderr; yield the tracker to advance.

    Args:
        title: What is being done, in a few words.
        total: How many units there are.
        unit: What is counted, in the plural.
        shown: False counts in silence.
    """
    if not shown:
        yield Tracker(title, total, unit)
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        with _as_current(_PlainTracker(title, total, unit)) as plain:
            yield plain
        plain.close()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[unit]} {task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    with Progress(*columns, console=console) as bar, _as_current(_BarTracker(title, total, unit, bar)) as tracker:
        yield tracker


@contextmanager
def _as_current(tracker: Tracker) -> Iterator[Tracker]:
    """Let `current_tracker` return this one while the block runs."""
    token = _current.set(tracker)
    try:
        yield tracker
    finally:
        _current.reset(token)
