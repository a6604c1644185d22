"""How soon the program answers: whole processes, from start to end."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.records import ROOT
from itransf.experiments.bench.records import summarise

STARTS = {
    "python": ("-c", "pass"),
    "import": ("-c", "import itransf"),
    "help": ("-m", "itransf", "--help"),
}


def measure_starts(repetitions: int, demo: bool) -> dict[str, dict[str, Any]]:
    """Return the wall times of a bare interpreter, the import, the help, and of the demo if asked for."""
    for arguments in STARTS.values():
        time_process(arguments)  # compiles what is not compiled yet
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(repetitions):
        for name, arguments in STARTS.items():
            times[name].append(time_process(arguments))
    if demo:
        with tempfile.TemporaryDirectory() as folder:
            times["demo"] = [time_process(("-m", "itransf", "demo", "--out", f"{folder}/demo"))]
    return {name: {"seconds": found, **summarise(found)} for name, found in times.items()}


def time_process(arguments: Sequence[str]) -> float:
    """Return the seconds that Python takes with these arguments."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=True)
    return time.perf_counter() - started
