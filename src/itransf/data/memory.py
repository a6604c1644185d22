"""The memory that reading may use: a small file that expands to a large one is refused before memory runs out."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import product
from pathlib import Path

from itransf.errors import ConfigError, DataError
from itransf.threads import list_groups

_PER_BYTE = 4  # bytes of memory that reading a byte of text takes: the text, its columns, and their cleaned copies
_UNKNOWN = 4 * 2**30  # bytes that are free where the system does not say
_MEMINFO = Path("/proc/meminfo")
_GROUP_FILES = (  # limit, usage, and what is counted as usage but given back when memory is short; versions 2 and 1
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


class Budget:
    """Memory that is left for reading."""

    def __init__(self, memory: int) -> None:
        self.memory = self.left = memory

    def take_text(self, size: int, where: str) -> None:
        """Take the memory that so many bytes of text need.

        Raises:
            DataError: There is not as much left.
        """
        self.take(_PER_BYTE * size, where)

    def take(self, size: int, where: str) -> None:
        """Take memory.

        Raises:
            DataError: There is not as much left.
        """
        self.check(size, where)
        self.left -= size

    def check(self, size: int, where: str) -> None:
        """Refuse a source that takes more memory than is left.

        Raises:
            DataError: It does.
        """
        if size > self.left:
            limit = f"{self.memory / 2**20:,.0f} MiB" if self.memory >= 2**20 else f"{self.memory:,} bytes"
            raise DataError(
                f"{where}: reading it takes more than {limit} of memory; if you trust the file, "
                "allow more (--memory 16GB, memory=...)"
            )


_ACTIVE: ContextVar[Budget | None] = ContextVar("reading budget", default=None)


@contextmanager
def bounded(memory: int | None = None) -> Iterator[Budget]:
    """Bound the memory of what the block reads; a block within another one shares its budget.

    Args:
        memory: Bytes; by default half of what is free.
    """
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or memory < 1):
        raise ConfigError(f"memory = {memory!r}: give a number of bytes, at least 1")
    active = _ACTIVE.get()
    if active is not None:
        yield active
        return
    budget = Budget(memory or find_free() // 2)
    token = _ACTIVE.set(budget)
    try:
        yield budget
    finally:
        _ACTIVE.reset(token)


def find_free() -> int:
    """Return the bytes of memory that are free, for the machine and for the control groups of the process."""
    found = []
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="utf-8").splitlines())
        found.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2)
    for folder, names in product(list_groups("memory"), _GROUP_FILES):
        with suppress(OSError, ValueError):  # there is no limit, or it is "max"
            limit, usage = (int((folder / name).read_text(encoding="utf-8")) for name in names[:2])
            counters = (line.split() for line in (folder / "memory.stat").read_text(encoding="utf-8").splitlines())
            cache = sum(int(size) for name, size in counters if name == names[2])
            found.append(max(0, limit - usage + cache))
    return min(found, default=_UNKNOWN)
