"""Runs that fall over at a chosen checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from itransf.storage import RunFolder


class InterruptionError(Exception):
    """What a run falls over with."""


class FragileFolder(RunFolder):
    """A run folder that counts checkpoints and, after so many, falls over (zero: never)."""

    def __init__(self, path: Path, stop_after: int = 0) -> None:
        super().__init__(path)
        self.stop_after, self.phases = stop_after, list[str]()

    def write_checkpoint(self, tensors: Any, meta: Any) -> None:
        """Write, then perhaps fall over."""
        super().write_checkpoint(tensors, meta)
        self.phases.append(meta["phase"])
        if len(self.phases) == self.stop_after:
            raise InterruptionError
