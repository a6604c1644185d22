"""Compiling functions by numba; imported only where that is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from itransf.progress import Tracker, current_tracker

Function = TypeVar("Function", bound=Callable[..., Any])
CONSTANTS = (Path(__file__).parents[1] / "training" / "optimizers.py",)
"""Sources elsewhere, whose numbers are compiled into functions."""


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when it is first called; keep the result on disk where a folder can be written.

    What is kept counts only while no source beside the function's own, nor any of `CONSTANTS`, has changed: numba
    alone would look at the function's file, not at those of the functions that it calls.
    """

    def compile_it(function: Function) -> Function:
        try:
            dispatcher = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no folder can be written to
            return cast(Function, numba.njit(**options)(function))
        file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if file is not None:  # there is none where numba was told to compile nothing
            file._source_stamp = (file._source_stamp, digest_sources(Path(function.__code__.co_filename).parent))
        return cast(Function, dispatcher)

    return compile_it


@lru_cache
def digest_sources(folder: Path) -> str:
    """Return a checksum of everything that functions in a folder may be compiled from."""
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), *CONSTANTS):
        digest.update(path.read_bytes())
    return digest.hexdigest()


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
