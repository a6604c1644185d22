"""Records of measurements: the command, the machine, the versions, the commit, and the results."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import itransf
from itransf.files import write_text

ROOT = Path(__file__).resolve().parent.parent
RESULTS, DOCS = ROOT / "results", ROOT / "docs"
PACKAGE = Path(itransf.__file__).resolve().parent
Record = Mapping[str, Any]


@dataclass
class StoredMeasurement:
    """A measurement that continues from its stored record.

    Attributes:
        options: The command line.
        record: What is stored so far.
        path: File of the record.
        started: Time of this call.
    """

    options: argparse.Namespace
    record: dict[str, Any]
    path: Path
    started: float = field(default_factory=time.monotonic)

    @property
    def is_time_up(self) -> bool:
        """Whether nothing more is to be started."""
        return 0 < 60 * float(self.options.minutes) < time.monotonic() - self.started


def start_record(
    benchmark: str, seed: int, config: Mapping[str, Any], packages: Iterable[str], program: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a record without results.

    Args:
        benchmark: Name of the module in `benchmarks`.
        seed: Random seed.
        config: Options of the command line by name, with all their values.
        packages: Packages whose versions are stored, in addition to Python and itransf.
        program: The command that config completes, if it is not `python -m benchmarks.BENCHMARK`.
    """
    return {
        "benchmark": benchmark,
        "command": format_command(program or ("python", "-m", f"benchmarks.{benchmark}"), config),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "config": dict(config),
        "git": describe_commit(),
        "hardware": describe_hardware(),
        "versions": describe_versions(packages),
    }


def resume_record(
    path: Path, benchmark: str, options: argparse.Namespace, config: Mapping[str, Any], **empty: Any
) -> dict[str, Any]:
    """Return the stored record if it was measured with the same config, otherwise a new one.

    Args:
        path: File of the record.
        benchmark: Name of the module in `benchmarks`.
        options: The command line; `fresh` ignores the stored record.
        config: The options that change results.
        empty: Results of a new record; a stored record with another `recipe` is not continued either.
    """
    stored = json.loads(path.read_text(encoding="utf-8")) if path.is_file() and not options.fresh else {}
    if stored.get("config") == config and stored.get("recipe") == empty.get("recipe"):
        return dict(stored)
    seed = config["seed"] if "seed" in config else config["seeds"][0]
    return start_record(benchmark, seed, config, ("torch", "numpy")) | empty


def format_command(program: Sequence[str], config: Mapping[str, Any]) -> str:
    """Return the command that repeats a measurement, with every option."""
    words = list(program)
    for name, value in config.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words += [option] if value else []
        else:
            words += [option, *map(str, value if isinstance(value, list | tuple) else [value])]
    return shlex.join(words)


def summarise(values: Sequence[float]) -> dict[str, float]:
    """Return the median and the extremes."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def write_record(record: Record, path: Path) -> None:
    """Write a record as indented JSON."""
    write_text(path, json.dumps(record, indent=2, allow_nan=False) + "\n")


def read_records(folder: Path = RESULTS, kind: str = "benchmark") -> dict[str, dict[str, Any]]:
    """Return the stored records of a kind by the rest of their file name."""
    paths = sorted(folder.glob(f"{kind}-*.json"))
    return {path.stem.removeprefix(f"{kind}-"): json.loads(path.read_text(encoding="utf-8")) for path in paths}


def describe_hardware() -> dict[str, Any]:
    """Return what the machine is, and its load."""
    return {
        "cpu": read_cpu_model(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cores": count_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None,
        "platform": f"{platform.system()} {platform.machine()}",
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def count_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_cpu_model() -> str:
    """Return the name of the processor."""
    for line in _ask("lscpu").splitlines():
        if line.startswith("Model name:"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the versions in use; None means that a package is not installed."""
    versions: dict[str, str | None] = {"python": platform.python_version(), "itransf": itransf.__version__}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return versions


def describe_commit(folder: Path = PACKAGE) -> dict[str, Any]:
    """Return the commit of the package, and whether files differ from it: true, false or "unknown".

    The environment variable ITRANSF_COMMIT names the commit of a copy without history.
    """
    given = os.environ.get("ITRANSF_COMMIT")
    # An installed copy may be inside a repository that does not track it.
    if given or not _ask("git", "ls-files", "--error-unmatch", "__init__.py", folder=folder):
        return {"commit": given or None, "dirty": "unknown"}
    changes = _ask("git", "status", "--porcelain", folder=folder)
    return {"commit": _ask("git", "rev-parse", "HEAD", folder=folder) or None, "dirty": bool(changes)}


def _ask(*command: str, folder: Path = PACKAGE) -> str:
    """Return the output of a program, an empty string if it fails or is missing."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
