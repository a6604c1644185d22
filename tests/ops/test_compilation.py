"""Compiled functions are cached, and progress shows when something is compiled."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from itransf.progress import track

numba = pytest.importorskip("numba")
from itransf.ops.compilation import announce_compilation, compiled  # noqa: E402 (it needs numba)


def double(number: int) -> int:
    return 2 * number


@pytest.fixture
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


@pytest.fixture
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder can be written to."""
    compile_function = numba.njit

    def refuse_cache(**options: Any) -> Any:
        if "cache" in options:
            raise RuntimeError("cannot cache function: no locator available")
        return compile_function(**options)

    monkeypatch.setattr(numba, "njit", refuse_cache)


def tell(function: Any, shown: bool = True) -> None:
    with track("work", 1, shown=shown), announce_compilation("the work"):
        assert function(3) == 6


def read_told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if not line.startswith("work: ")]


@pytest.mark.usefixtures("_empty_cache")
def test_compiling_is_reported_once_on_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    first, later = compiled()(double), compiled()(double)
    tell(first)
    (told,) = read_told(capsys)
    assert told.startswith("compiling the work")
    tell(first)
    tell(later)  # found on disk, as another process would find it
    assert read_told(capsys) == []
    assert sum(later.stats.cache_hits.values()) == 1  # type: ignore[attr-defined]


@pytest.mark.usefixtures("_empty_cache")
def test_a_function_and_those_it_calls_are_told_of_together(capsys: pytest.CaptureFixture[str]) -> None:
    inner = compiled()(double)
    tell(compiled()(lambda number: inner(number + 1) - 2))
    assert len(read_told(capsys)) == 1


@pytest.mark.usefixtures("_no_cache")
def test_a_folder_that_cannot_be_written_to_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    tell(compiled()(double))
    assert read_told(capsys) == ["compiling the work ..."]


@pytest.mark.usefixtures("_no_cache")
def test_threads_of_the_work_tell_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    function = compiled()(double)

    def run_in_thread(number: int) -> int:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function, number).result()

    tell(run_in_thread)
    assert len(read_told(capsys)) == 1


@pytest.mark.usefixtures("_no_cache")
def test_nothing_is_told_where_progress_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    tell(compiled()(double), shown=False)
    assert read_told(capsys) == []


INNER = """
from typing import NamedTuple
from itransf.ops.compilation import compiled

class Pair(NamedTuple):
    left: int
    right: int

@compiled()
def inner(n):
    return n + 1
"""
OUTER = """
from inner import Pair, inner
from itransf.ops.compilation import compiled

@compiled()
def outer(pair):
    return inner(pair.left) + pair.right

print(outer(Pair(1, 0)), sum(outer.stats.cache_hits.values()))
"""


def test_the_cache_is_valid_until_a_source_changes(tmp_path: Path) -> None:
    def run() -> str:
        done = subprocess.run([sys.executable, "outer.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    (tmp_path / "inner.py").write_text(INNER)
    (tmp_path / "outer.py").write_text(OUTER)
    assert [run(), run()] == ["2 0", "2 1"]
    (tmp_path / "inner.py").write_text(INNER.replace("n + 1", "n + 5"))
    assert run() == "6 0"
    for name, text in (("inner.py", INNER), ("outer.py", OUTER)):  # the stale cache names a class that is gone
        (tmp_path / name).write_text(text.replace("Pair", "Couple"))
    assert run() == "2 0"


def test_functions_work_where_numba_is_told_to_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert compiled()(double)(3) == 6
