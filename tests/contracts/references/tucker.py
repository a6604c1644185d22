from __future__ import annotations

import math
from typing import Any

from contracts.references import Case, Vector, Weights, look_up

CASES: list[Case] = [{"dim": 4}, {"dim": 3, "relation_dim": 5}]


def normalize(weights: Weights, layer: str, vector: Vector) -> Vector:
    names = ("weight", "bias", "running_mean", "running_var")
    columns = zip(vector, *(weights[f"{layer}.{name}"].tolist() for name in names), strict=True)
    return [scale * (x - mean) / math.sqrt(square + 1e-5) + shift for x, scale, shift, mean, square in columns]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    h, d = normalize(weights, "inputs", h), config.dim
    moved = [0.0] * d
    for j, matrix in enumerate(weights["core"]):
        for i in range(d):
            for k in range(d):
                moved[k] += float(matrix[i * d + k]) * r[j] * h[i]
    return sum(x * y for x, y in zip(normalize(weights, "outputs", moved), t, strict=True))
