from __future__ import annotations

from typing import Any

from contracts.references import Case, Weights, look_up

CASES: list[Case] = [{"dim": 5}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    rows = zip(*look_up(weights, head, relation, tail), strict=True)
    return sum(h * r * t for h, r, t in rows)
