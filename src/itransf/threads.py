"""CPU threads: how many are used, and how idle ones wait; the control groups that limit the process.

The OpenMP runtime reads its settings when torch is first imported, so they are applied when `itransf` is imported.
"""

import math
import os
import sys
from pathlib import Path

from itransf.errors import check_count

PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
CGROUPS, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def configure_threads() -> None:
    """Let idle threads sleep instead of spin, and use no more CPUs than the container allows.

    Environment variables that the user has set take precedence.
    """
    if not any(name in os.environ for name in PASSIVE):
        os.environ.update(PASSIVE)
    quota = read_quota()
    if quota < count_cpus() and not any(name in os.environ for name in COUNTS):
        set_threads(math.ceil(quota))


def set_threads(count: int | None) -> None:
    """Use this many CPU threads, if a number is given.

    Raises:
        ConfigError: The number is not a whole number of at least one.
    """
    if count is None:
        return
    number = check_count("threads", count, least=1)
    os.environ.update(dict.fromkeys(COUNTS, str(number)))
    if "torch" in sys.modules:  # too late for the environment
        sys.modules["torch"].set_num_threads(number)


def count_cpus() -> int:
    """Return the number of CPUs this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read_quota(root: Path = CGROUPS, own: Path = OWN) -> float:
    """Return the CPU quota of the process's control groups in CPUs, infinite without one."""
    return min(map(_read_limit, list_groups("cpu", root, own)), default=math.inf)


def list_groups(controller: str, root: Path = CGROUPS, own: Path = OWN) -> list[Path]:
    """Return the folders of the process's control groups (version 2 or 1) for "cpu" or "memory", and of those above."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            mount = root / controllers
            group = mount / path.lstrip("/")
            found += [folder for folder in (group, *group.parents) if folder.is_relative_to(mount)]
    return found


def _read_limit(folder: Path) -> float:
    """Return the quota of one control group in CPUs."""
    try:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        else:
            files = (folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us")
            quota, period = (file.read_text(encoding="utf-8") for file in files)
        return float(quota) / float(period) if float(quota) > 0 else math.inf
    except (OSError, ValueError):  # there is none, or it is "max"
        return math.inf
