"""Kills and full disks at every file operation: the folder holds the old or the new run, and the next command works.

File operations are the audit events of Python that change files. A kill ends the process at one of them; a full disk
raises an error there. Partial writes need no trials of their own: files are written under temporary names.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import itransf
from benchmarks.trust.concurrency import make_index
from benchmarks.trust.trials import CONCEPTS, QUICK, Count, in_process, make_graph
from itransf.data.download import PackagedFiles, fetch
from itransf.errors import ITransFError, RunError

_CHANGING = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.link", "os.symlink"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_OPTIONS: dict[str, Any] = {"device": "cpu", "progress": False}


def train(root: Path, *settings: str, **options: Any) -> None:
    """Train a small model into the folder "run"."""
    itransf.train(make_graph(), settings=[*CONCEPTS, *QUICK, *settings], out=root / "run", **_OPTIONS, **options)


def learn(root: Path) -> None:
    """Learn a relation, and replace the run."""
    run = itransf.open(root / "run", device="cpu")
    name = f"new {len(run.graph.relations)}"
    run.learn_relation(name, [("e0", "e1"), ("e2", "e3")]).save(root / "run", overwrite=True)


def edit(root: Path) -> None:
    """Pin a concept, and replace the run."""
    itransf.open(root / "run", device="cpu").edit(pin=[("r0", "head", 1)]).save(root / "run", overwrite=True)


def export(root: Path) -> None:
    """Write the embeddings."""
    itransf.open(root / "run", device="cpu").export(root / "tables", format="csv", overwrite=True)


def report(root: Path) -> None:
    """Write the report."""
    itransf.open(root / "run", device="cpu").report(root / "report.html")


def rename(root: Path) -> None:
    """Name a concept and label an entity."""
    run = itransf.open(root / "run", device="cpu")
    run.name_concepts({1: "another name"}, root / "run")
    run.label({"e2": "second entity"}, root / "run")


def seal(root: Path) -> None:
    """Accept the files of the run."""
    itransf.seal(root / "run")


def download(root: Path) -> None:
    """Download an archive into a cache."""
    assert PACKAGED, "there is an index"
    fetch(PACKAGED[0], root / "cache", progress=False)


OPERATIONS: Mapping[str, Callable[[Path], None]] = {
    "train": lambda root: train(root, resume=True),
    "train --overwrite": lambda root: train(root, "model.dim=3", overwrite=True),
    "train --resume": lambda root: train(root, "training.epochs=3", resume=True),
    "learn": learn,
    "edit": edit,
    "export": export,
    "report": report,
    "names and labels": rename,
    "seal": seal,
    "data get": download,
}
FRESH = {"train"}  # begin without a run
PACKAGED: list[PackagedFiles] = []  # the archive to download


class Fault:
    """An audit hook that counts file operations below a folder, and kills the process or fails at one of them."""

    def __init__(self, root: Path, at: int = 0, kills: bool = True) -> None:
        self.root, self.at, self.kills, self.count = str(root), at, kills, 0
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Count an event if it changes files."""
        is_change = event in _CHANGING or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
        )
        if not is_change or not str(arguments[0]).startswith(self.root):
            return
        self.count += 1
        if self.count == self.at and self.kills:
            os._exit(0)
        if self.at and self.count >= self.at and not self.kills and event not in ("os.remove", "os.rmdir"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(arguments[0]))


def count_operations(base: Path, work: Path, operation: Callable[[Path], None]) -> int:
    """Return the number of file operations of a command."""

    def run() -> int:
        fault = Fault(work)
        operation(work)
        return fault.count

    restore(base, work)
    found = in_process(run)
    assert isinstance(found.value, int), found.error
    return found.value


def restore(base: Path, work: Path) -> None:
    """Put a copy of a folder in place of another."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(base, work)


def describe(root: Path) -> str:
    """Return the identity of the run in the folder, or "none" where there is no run."""
    try:
        run = itransf.open(root / "run", device="cpu")
    except RunError as error:
        return "none" if "no such run" in str(error) or "no run.json" in str(error) else f"refused: {error}"
    except ITransFError as error:
        return f"refused: {error}"
    return f"{run.record.id} {run.record.data_hash[:8]} {len(run.history)} {run.unfinished}"


def inject(root: Path, kills: bool, stride: int = 1, names: tuple[str, ...] = tuple(OPERATIONS)) -> dict[str, Count]:
    """Kill, or fill the disk, at each file operation of each command.

    Args:
        root: Empty folder for the trials.
        kills: Whether to kill the process; otherwise the disk is full from that operation on.
        stride: Distance between the operations that are tried.
        names: Commands to try.
    """
    empty, base, work = root / "empty", root / "base", root / "work"
    empty.mkdir(parents=True)
    base.mkdir()
    train(base)
    PACKAGED[:] = [make_index(root)]
    counts = {}
    for name in names:
        operation, start = OPERATIONS[name], empty if name in FRESH else base
        before, count = describe(start), Count()
        for at in range(1, count_operations(start, work, operation) + 1, stride):
            restore(start, work)
            found = in_process(lambda operation=operation, at=at: _run_with_fault(operation, work, at, kills))
            outcome, is_failure = judge(work, operation, before, kills, found.text)
            count.add(outcome, is_failure, f"{name}, operation {at}")
        counts[name] = count
    return counts


def _run_with_fault(operation: Callable[[Path], None], work: Path, at: int, kills: bool) -> None:
    Fault(work, at, kills)
    operation(work)


def judge(work: Path, operation: Callable[[Path], None], before: str, kills: bool, ended: str) -> tuple[str, bool]:
    """Return what is in the folder after a fault, and whether it is something that was not promised."""
    state = describe(work)
    if state.startswith("refused") and "warm start" not in state:
        return state, True
    if not kills and ended.startswith("traceback"):
        return ended, True
    again = in_process(lambda: operation(work))
    if again.error:
        return f"the next command fails: {again.error}", True
    left = [path.name for path in (work / "run").iterdir() if path.name.startswith(".")]
    if left:
        return f"left after the next command: {left}", True
    return ("the old run" if state == before else "the new run"), False
