from __future__ import annotations

from typing import Any

from contracts.references import Case, Weights, find_paths

CASES: list[Case] = [{"paths": 6}, {"paths": 30, "fan_out": 2}, {"paths": 6, "binary": True}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    found = find_paths(weights, config, head, relation, tail)
    own = weights["relations"][relation].tolist()
    return float(own[-1] + sum(share * own[slot] for slot, share in found))
