"""Compiling functions by numba; imported only where that is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from itransf.progress import Tracker, current_tracker

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when it is first called; keep the result on disk where a folder can be written."""

    def compile_it(function: Function) -> Function:
        try:
            return cast(Function, numba.njit(cache=True, **options)(function))
        except RuntimeError:  # no folder can be written to
            return cast(Function, numba.njit(**options)(function))

    return compile_it


@contextmanager
def telling_of_compiling(what: str) -> Iterator[None]:
    """Say once, where progress is shown, that `what` is being compiled, should the block have to do that."""
    with event.install_listener("numba:compile", _Teller(what, current_tracker())):
        yield


class _Teller(event.Listener):
    """Hears when numba compiles: not when it finds in memory or on disk what it compiled before."""

    def __init__(self, what: str, tracker: Tracker) -> None:
        self.what, self.tracker = what, tracker  # the tracker of now: compiling may begin in another thread
        self.has_told = False

    def on_start(self, event: Any) -> None:
        if not self.has_told:
            self.has_told = True
            is_kept = event.data["dispatcher"].stats.cache_path is not None
            self.tracker.say(f"compiling {self.what}{', once on this machine' if is_kept else ''} ...")

    def on_end(self, event: Any) -> None:
        """Nothing is told: progress goes on."""
