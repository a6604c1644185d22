from __future__ import annotations

from typing import Any

from contracts.references import Case, Weights, look_up

CASES: list[Case] = [{"dim": 3}, {"dim": 3, "pair_dim": 5}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    d, pair = config.dim, config.pair_dim or config.dim
    h, r, t = look_up(weights, head, relation, tail)
    total = sum(h[i] * r[i] + t[i] * r[pair + i] + h[i] * float(weights["diagonal"][i]) * t[i] for i in range(pair))
    matrix = weights["matrices"][relation].reshape(d, d)
    return total + sum(h[pair + i] * float(matrix[i, j]) * t[pair + j] for i in range(d) for j in range(d))
