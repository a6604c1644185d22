"""Settings of torch that hold for the whole process, turned on while trainings run in its threads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


class Switch:
    """A setting that blocks turn on; the last block of all threads restores it.

    Args:
        read: Function that returns the setting.
        write: Function that changes it.
        value: What it is while blocks run.
    """

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None], value: Any) -> None:
        self._read, self._write, self._value = read, write, value
        self._turning, self._before = Lock(), list[Any]()  # the setting that each running block found

    @contextmanager
    def __call__(self, wanted: bool) -> Iterator[None]:
        """Turn the setting on while the block runs, if that is wanted."""
        if not wanted:
            yield
            return
        with self._turning:
            self._before.append(self._read())
            self._write(self._value)
        try:
            yield
        finally:
            with self._turning:  # the first block found the setting to restore
                self._write(self._before.pop())
