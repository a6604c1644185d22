from __future__ import annotations

from typing import Any

from contracts.references import Case, Weights, look_up

CASES: list[Case] = [{"dim": 5}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    d = config.dim
    h, r, t = ([complex(row[i], row[d + i]) for i in range(d)] for row in look_up(weights, head, relation, tail))
    return sum((a * b * c.conjugate()).real for a, b, c in zip(h, r, t, strict=True))
