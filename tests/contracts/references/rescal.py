from __future__ import annotations

from typing import Any

from contracts.references import Case, Weights, look_up

CASES: list[Case] = [{"dim": 3}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, matrix, t = look_up(weights, head, relation, tail)
    return sum(h[i] * matrix[config.dim * i + j] * t[j] for i in range(config.dim) for j in range(config.dim))
