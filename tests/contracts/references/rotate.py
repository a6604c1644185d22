from __future__ import annotations

import cmath
from typing import Any

from contracts.references import Case, Weights, look_up

CASES: list[Case] = [{"dim": 5}, {"dim": 4, "span": 3.0}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    d = config.dim
    h, r, t = look_up(weights, head, relation, tail)
    total = 0.0
    for i in range(d):
        turned = complex(h[i], h[d + i]) * cmath.exp(1j * cmath.pi * d / config.span * r[i])
        total -= abs(turned - complex(t[i], t[d + i]))
    return total
