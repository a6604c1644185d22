"""Whether a stored run may go on: only on the same triples, and with settings that do not change what is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from itransf.config import Config
from itransf.data.graph import SPLITS, Graph
from itransf.errors import RunError
from itransf.storage import RunFolder

# Settings that say how long or how safely to train, not what.
CHANGEABLE = {
    "training.epochs",
    "training.max_minutes",
    "validation.patience",
    "checkpoint.minutes",
    "checkpoint.epochs",
}


def check_same(folder: RunFolder, graph: Graph, config: Config, stored: Config) -> None:
    """Refuse to continue a run with another graph or other settings."""
    old, new = flatten(stored.to_dict()), flatten(config.to_dict())
    differing = sorted(key for key in {*old, *new} - CHANGEABLE if old.get(key) != new.get(key))
    if differing:
        listed = "; ".join(f"{key}: {old.get(key)!r} then, {new.get(key)!r} now" for key in differing)
        raise RunError(f"{folder.path}: was trained with other settings ({listed}). Use those, or another folder")
    kept = folder.read_graph()
    same_names = kept.entities.names == graph.entities.names and kept.relations.names == graph.relations.names
    if not same_names or not all(np.array_equal(kept.split(split), graph.split(split)) for split in SPLITS):
        raise RunError(f"{folder.path}: was trained on other triples than these. Use those, or another folder")


def list_moved(stored: Config, config: Config) -> list[str]:
    """Say what comes at another time than it would have, now that a run has other epochs than it was begun with."""
    before, now = stored.training.epochs, config.training.epochs
    shares = {
        "training.lr_decay": config.training.lr_decay == "linear",
        "training.weight_averaging": config.training.weight_averaging > 0,
        "assignment.stop": bool(config.assignment.every) and config.has_supports,
        "negatives.domain_stop": bool(config.negatives.domain) and config.negatives.domain_stop < 1,
    }
    moved = [key for key, matters in shares.items() if matters]
    if before == now or not moved:
        return []
    return [
        f"the run was begun for {before:,} epochs; what depends on their number ({', '.join(moved)}) has {now:,} now"
    ]


def flatten(content: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Return nested settings with dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat |= flatten(value, f"{at}{key}.") if isinstance(value, Mapping) else {at + key: value}
    return flat
