"""Ratios to the faster peer, and figures beside their targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
OURS = "ours"


def compare(rows: Sequence[Row], targets: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return, for each of our rows with a peer's beside it, how many times the faster peer's rate it has."""
    found = []
    for row in rows:
        peers = [other for other in rows if _is_rival(row, other)]
        if row["contender"] != OURS or not row["rate"] or not peers:
            continue
        faster = max(peers, key=lambda other: float(other["rate"]["median"]))
        ratio = row["rate"]["median"] / faster["rate"]["median"]
        target = _find_target(row, targets, "ratio")
        found.append(
            {
                **_copy(row, "activity", "dataset", "dim", "model", "norm", "block_size", "fast"),
                "faster_peer": faster["contender"],
                "ratio": ratio,
                "target": target,
                "met": None if target is None else ratio >= target,
            }
        )
    return found


def judge_memory(rows: Sequence[Row], targets: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the peak memory of every ranking process."""
    found = []
    for row in rows:
        if row["activity"] != "ranking" or row["peak_bytes"] is None:
            continue
        target = _find_target(row, targets, "peak_bytes")
        found.append(
            {
                **_copy(row, "contender", "dataset", "dim", "model", "norm", "fast", "peak_bytes"),
                "target": target,
                "met": None if target is None else row["peak_bytes"] < target,
            }
        )
    return found


def judge_times(starts: Mapping[str, Row], targets: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the times of starting the program beside their targets."""
    limits = targets["seconds"]
    return {
        name: {
            **found,
            "target": limits.get(name),
            "met": found["median"] < limits[name] if name in limits else None,
        }
        for name, found in starts.items()
    }


def _copy(row: Row, *keys: str) -> dict[str, Any]:
    """Return what a row has under these keys; records of earlier versions have fewer."""
    return {key: row[key] for key in keys if key in row}


def _is_rival(row: Row, other: Row) -> bool:
    """Tell whether the other row is a peer's measurement of the same activity on the same graph."""
    same = all(row[key] == other[key] for key in ("activity", "dataset", "dim"))
    return same and other["contender"] != OURS and bool(other["rate"])


def _find_target(row: Row, targets: Mapping[str, Any], kind: str) -> float | None:
    """Return the target this row has to meet, if there is one."""
    wanted = targets[row["activity"]]
    if row["contender"] != OURS or row["model"] != wanted["model"] or row["norm"] != wanted["norm"]:
        return None
    if not row.get("fast", True):
        return None
    limit: float | None = wanted.get(kind, {}).get(row["dataset"])
    return limit
