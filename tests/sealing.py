"""Changes to the files of a run, with checksums that fit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from itransf.records import Manifest, read_manifest, write_manifest
from itransf.storage import RunFolder


def reseal(path: Path) -> None:
    """Store the checksums of the files as they are."""
    write_manifest(path, Manifest(read_manifest(path, sealed=False).record, RunFolder(path).measure()))


def put(path: Path, content: str | bytes) -> None:
    """Replace a file of a run, and its checksum."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    reseal(path.parent)


def put_tensors(path: Path, name: str, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
    """Replace tensors of a run, and their checksum."""
    folder = RunFolder(path)
    folder.stage_tensors(name, tensors, meta)
    folder.commit()
