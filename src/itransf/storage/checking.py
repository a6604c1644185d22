"""What a run's files must hold to be used: someone may have changed them, or put in those of another run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from itransf.data.graph import SPLITS
from itransf.data.sorting import Integers
from itransf.errors import CheckpointError

EPOCH: dict[str, type | tuple[type, ...]] = {"phase": str, "epoch": int, "loss": (int, float), "seconds": (int, float)}


def check_texts(texts: Iterable[Any], path: Path, what: str) -> None:
    """Refuse what is no text."""
    for text in texts:
        if not isinstance(text, str):
            raise damaged(path, f"{what} {text!r} is no text")


def check_triples(splits: Mapping[str, Tensor], entities: int, relations: int, path: Path) -> dict[str, Integers]:
    """Return the triples of each split, (f, 3), all of whose numbers stand for a name."""
    found = {}
    for split in SPLITS:
        triples = splits[split].numpy() if split in splits else None
        if (
            triples is None
            or triples.ndim != 2
            or triples.shape[1] != 3
            or not np.issubdtype(triples.dtype, np.integer)
        ):
            raise damaged(path, f"holds no triples called {split!r} as a run's file does")
        for column, size, kind in ((0, entities, "entity"), (1, relations, "relation"), (2, entities, "entity")):
            wrong = triples[(triples[:, column] < 0) | (triples[:, column] >= size), column]
            if len(wrong):
                raise damaged(path, f"names {kind} {wrong[0]} in {split}, but vocabulary.json has {size:,} names")
        found[split] = triples.astype(np.int64, copy=False)
    return found


def check_history(entries: list[Any], path: Path) -> list[dict[str, Any]]:
    """Return the history, each line of which is an epoch."""
    for line, entry in enumerate(entries, start=1):
        for key, kind in EPOCH.items():
            if not isinstance(entry, dict) or not isinstance(entry.get(key), kind):
                raise CheckpointError(
                    f"{path}, line {line}: holds no {key!r} as an epoch does; remove the file to do without it"
                )
    return entries


def damaged(path: Path, fault: str) -> CheckpointError:
    """Return what to say of a file that cannot be used."""
    return CheckpointError(f"{path}: {fault}; the run is damaged, restore the file or train again")
