"""Make the `benchmarks` folder importable however the tests are started."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


class LocalPool:
    """A process pool that runs what is submitted at once, in this process."""

    def __init__(self, jobs: int, context: object, initializer: object = None, initargs: tuple[int, ...] = ()) -> None:
        assert jobs == 3
        assert initargs in ((), (2,))

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *error: object) -> None: ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        assert cancel_futures


@pytest.fixture
def local_pool() -> type[LocalPool]:
    return LocalPool
