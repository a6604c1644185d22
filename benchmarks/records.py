"""Records of measurements: what was run, on what, with which versions, and all that came out."""

from __future__ import annotations

import json
import os
import platform
import shlex
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from itransf import __version__
from itransf.files import write_text

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"


def start_record(benchmark: str, seed: int, config: Mapping[str, Any], packages: Iterable[str]) -> dict[str, Any]:
    """Return a record that says everything but the figures.

    Args:
        benchmark: The module's name under `benchmarks`.
        seed: Of everything random.
        config: The options, all written out, by the names of the command line.
        packages: Whose versions matter, beside python and this package.
    """
    return {
        "benchmark": benchmark,
        "command": format_command(benchmark, config),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "config": dict(config),
        "git": describe_tree(),
        "hardware": describe_hardware(),
        "versions": describe_versions(packages),
    }


def format_command(benchmark: str, config: Mapping[str, Any]) -> str:
    """Return the command that measures the same again, every option written out."""
    words = ["python", "-m", f"benchmarks.{benchmark}"]
    for name, value in config.items():
        if isinstance(value, bool):
            words += [f"--{name.replace('_', '-')}"] if value else []
        else:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"--{name.replace('_', '-')}", *map(str, values)]
    return shlex.join(words)


def describe_tree() -> dict[str, Any]:
    """Return the commit of the working tree, and whether anything differs from it.

    A copy without its history is told its commit by $ITRANSF_COMMIT.
    """
    commit = _ask("git", "rev-parse", "HEAD")
    if not commit and os.environ.get("ITRANSF_COMMIT"):
        return {"commit": os.environ["ITRANSF_COMMIT"], "dirty": False}
    return {
        "commit": commit or None,
        "dirty": bool(_ask("git", "status", "--porcelain")) if commit else None,
    }


def describe_hardware() -> dict[str, Any]:
    """Return what the machine is, and how busy it was."""
    return {
        "cpu": read_cpu_model(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cores": count_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "platform": f"{platform.system()} {platform.machine()}",
        "load_before": round(os.getloadavg()[0], 2),
    }


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_cpu_model() -> str:
    """Return the processor's name as the system tells it."""
    for line in _ask("lscpu").splitlines():
        if line.startswith("Model name:"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def describe_versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the versions in use; None stands for a package that is not installed."""
    versions: dict[str, str | None] = {"python": platform.python_version(), "itransf": __version__}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return versions


def summarise(values: Sequence[float]) -> dict[str, float]:
    """Return median and extremes."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values)}


def write_record(record: Mapping[str, Any], path: Path) -> None:
    """Write a record as readable JSON."""
    write_text(path, json.dumps(record, indent=2, allow_nan=False) + "\n")


def read_records(folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return the stored records of benchmarks by name."""
    found = {}
    for path in sorted(folder.glob("benchmark-*.json")):
        found[path.stem.removeprefix("benchmark-")] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _ask(*command: str) -> str:
    """Return what a program prints, an empty string if it fails or is not there."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
