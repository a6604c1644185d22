from __future__ import annotations

import math
from typing import Any

from contracts.references import Case, Weights, look_up

CASES: list[Case] = [
    {"dim": 5, "similarity": kind, "entity_constraint": "ball", "min_variance": 0.2, "max_variance": 0.9}
    for kind in ("kl", "el")
]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    d, total = config.dim, 0.0
    h, r, t = look_up(weights, head, relation, tail)
    for i in range(d):
        v_h, v_r, v_t = (min(max(row[d + i], config.min_variance), config.max_variance) for row in (h, r, t))
        gap, variance = h[i] - t[i] - r[i], v_h + v_t
        if config.similarity == "kl":
            total -= (variance / v_r + gap**2 / v_r - math.log(variance / v_r) - 1) / 2
        else:
            total -= (gap**2 / (variance + v_r) + math.log(variance + v_r)) / 2
    return total
