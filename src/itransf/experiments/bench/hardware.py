"""What a measurement ran on: the machine, the versions, the commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import itransf
from itransf import __version__

PACKAGE = Path(itransf.__file__).resolve().parent


def describe_hardware() -> dict[str, Any]:
    """Return what the machine is, and how busy it was."""
    return {
        "cpu": read_cpu_model(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "cores": count_cores(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else None,
        "platform": f"{platform.system()} {platform.machine()}",
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
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


def describe_commit(folder: Path = PACKAGE) -> dict[str, Any]:
    """Return the commit this package's files are at, and whether anything differs from it.

    A copy that has no history, or an older one, is told its commit by $ITRANSF_COMMIT; whether it differs from that
    is unknown.
    """
    told = os.environ.get("ITRANSF_COMMIT")
    # An installed copy may lie inside a repository that knows nothing of it.
    if told or not _ask("git", "ls-files", "--error-unmatch", "__init__.py", folder=folder):
        return {"commit": told or None, "dirty": "unknown"}
    changes = _ask("git", "status", "--porcelain", folder=folder)
    return {"commit": _ask("git", "rev-parse", "HEAD", folder=folder) or None, "dirty": bool(changes)}


def _ask(*command: str, folder: Path = PACKAGE) -> str:
    """Return what a program prints, an empty string if it fails or is not there."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
