"""What all trials share: small runs to work on, processes to work in, and counting outcomes."""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import itransf
from itransf.data.graph import Graph
from itransf.errors import ITransFError

QUICK = ("model.dim=4", "training.epochs=2", "checkpoint.epochs=1", "validation.every=1", "warm_start.epochs=1")
CONCEPTS = ("model.name=itransf", "model.concepts=4", "model.support_size=2")
LONGER = (*CONCEPTS, *QUICK, "training.epochs=3")  # settings of the interrupted run
_SHOWN = 5  # failures that are described


@dataclass
class Count:
    """Outcomes of trials of one kind.

    Attributes:
        trials: Number of trials.
        failures: Number of trials with another outcome than promised.
        outcomes: Number of trials by outcome.
        examples: Descriptions of the first failures.
    """

    trials: int = 0
    failures: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, outcome: str, is_failure: bool, example: str) -> None:
        """Count a trial."""
        self.trials += 1
        self.failures += is_failure
        self.outcomes[outcome] += 1
        if is_failure and len(self.examples) < _SHOWN:
            self.examples.append(f"{example}: {outcome}"[:400])

    def to_dict(self) -> dict[str, Any]:
        """Return the count for JSON."""
        return {**asdict(self), "outcomes": dict(sorted(self.outcomes.items()))}


@dataclass(frozen=True)
class Outcome:
    """What a process did: what it returned or the error that ended it, its processor time, and the memory it added."""

    value: Any = None
    error: str = ""
    is_ours: bool = False
    seconds: float = 0.0
    added: int = 0
    signal: int = 0

    @property
    def text(self) -> str:
        """The outcome in a word or a line."""
        if self.signal:
            return f"killed by signal {self.signal}"
        return ("refused" if self.is_ours else f"traceback: {self.error}") if self.error else "worked"


def make_graph(size: int = 12, seed: int = 0) -> Graph:
    """Return a small random graph with labels."""
    cells = np.random.default_rng(seed).permutation(size * 3 * size)[: 6 * size].tolist()
    triples = [(f"e{cell // (3 * size)}", f"r{cell // size % 3}", f"e{cell % size}") for cell in cells]
    graph = Graph.from_names("small", triples[: 5 * size], triples[5 * size : -4], triples[-4:])
    return graph.labelled({"e1": "first entity", "r0": "first relation"})


def make_runs(root: Path) -> dict[str, Path]:
    """Write three runs: finished with named concepts, interrupted with two checkpoints, and without concepts."""
    graph = make_graph()
    options: dict[str, Any] = {"device": "cpu", "progress": False}
    paths = {name: root / name for name in ("finished", "interrupted", "distmult")}
    run = itransf.train(graph, settings=[*CONCEPTS, *QUICK], out=paths["finished"], **options)
    run.name_concepts({0: "a name"}, paths["finished"])
    with interrupting_at(2), suppress(KeyboardInterrupt):
        itransf.train(graph, settings=LONGER, out=paths["interrupted"], **options)
    itransf.train(graph, settings=["model.name=distmult", *QUICK[:-1]], out=paths["distmult"], **options)
    return paths


@contextmanager
def interrupting_at(epoch: int) -> Iterator[None]:
    """Interrupt trainings in the block after this epoch of their last phase."""
    write = itransf.storage.RunFolder.write_checkpoint

    def stop(folder: Any, tensors: Any, meta: Any) -> None:
        write(folder, tensors, meta)
        if meta["phase"] == "training" and meta["progress"]["epoch"] == epoch:
            raise KeyboardInterrupt

    itransf.storage.RunFolder.write_checkpoint = stop  # type: ignore[method-assign]
    try:
        yield
    finally:
        itransf.storage.RunFolder.write_checkpoint = write  # type: ignore[method-assign]


def in_process(work: Callable[[], Any], limit: float = 60.0, memory: int = 0) -> Outcome:
    """Call a function in a forked process and return its outcome; the result must be plain JSON.

    Args:
        work: Function to call.
        limit: Seconds after which the process is killed.
        memory: Maximum address space in bytes beyond the present one; 0 sets none.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_child(work, writing, memory)
    os.close(writing)
    started, peak = time.monotonic(), 0
    os.set_blocking(reading, False)
    answer = b""
    while True:
        with suppress(BlockingIOError):
            answer += os.read(reading, 1 << 16)
        done, status = os.waitpid(child, os.WNOHANG)
        peak = max(peak, read_memory(child))
        if done:
            break
        if time.monotonic() - started > limit:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    os.set_blocking(reading, True)
    with os.fdopen(reading, "rb") as rest:
        answer += rest.read()
    told = json.loads(answer) if answer else {}
    seconds = told.pop("seconds", time.monotonic() - started)
    before = told.pop("before", peak)
    added = max(told.pop("peak", 0), peak) - before
    return Outcome(**told, seconds=seconds, added=added, signal=os.WTERMSIG(status))


def _run_child(work: Callable[[], Any], writing: int, memory: int) -> None:
    """Run the function, send its outcome and end the process."""
    told: dict[str, Any] = {}
    before = read_memory(os.getpid())
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        logging.disable()
        sys.setrecursionlimit(1000)
        if memory:
            resource.setrlimit(resource.RLIMIT_AS, (read_address_space() + memory, resource.RLIM_INFINITY))
        told = {"value": work()}
    except ITransFError as error:
        told = {"error": str(error), "is_ours": True}
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        told = {"error": f"{type(error).__name__}: {str(error)[:120]} ({Path(place.filename).name}:{place.lineno})"}
    told["before"] = before
    told["seconds"] = time.process_time()  # of this process alone, so that a busy machine does not count
    told["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    os.write(writing, json.dumps(told, default=str).encode())
    os._exit(0)


def read_memory(process: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def read_address_space() -> int:
    """Return the address space of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
