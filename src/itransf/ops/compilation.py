"""Compilation by numba: its cache on disk and its messages; imported only if numba is installed."""

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
"""Sources of numbers that are compiled into functions of other folders."""


def compiled(**options: Any) -> Callable[[Function], Function]:
    """Compile a function on its first call and cache the result on disk, if a folder is writable.

    The cache is valid until a source in the function's folder or in `CONSTANTS` changes: numba alone would check the
    function's own file, not those of the functions it calls.
    """

    def compile_it(function: Function) -> Function:
        try:
            dispatcher = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no folder is writable
            return cast(Function, numba.njit(**options)(function))
        file = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
        if file is not None:  # None if numba's compiler is switched off
            # Unlike the stamp of the source, the version is compared before any renamed class is unpickled.
            file._version = f"{file._version} {digest_sources(Path(function.__code__.co_filename).parent)}"
        return cast(Function, dispatcher)

    return compile_it


@lru_cache
def digest_sources(folder: Path) -> str:
    """Return a checksum of all sources of the compiled functions in a folder."""
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), *CONSTANTS):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def announce_compilation(what: str) -> Iterator[None]:
    """Show once, in the current progress, that `what` is being compiled, if the block compiles anything."""
    with event.install_listener("numba:compile", _Announcer(what, current_tracker())):
        yield


class _Announcer(event.Listener):
    """Notices when numba compiles, which it does not for functions in memory or in its cache."""

    def __init__(self, what: str, tracker: Tracker) -> None:
        self.what, self.tracker = what, tracker  # compilation may start in another thread
        self.is_done = False

    def on_start(self, event: Any) -> None:
        if not self.is_done:
            self.is_done = True
            is_cached = event.data["dispatcher"].stats.cache_path is not None
            self.tracker.say(f"compiling {self.what}{', once on this machine' if is_cached else ''} ...")

    def on_end(self, event: Any) -> None:
        """Do nothing."""
