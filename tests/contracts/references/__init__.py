"""Naive references: every model again, for one triple at a time, in plain loops.

A registered model needs a module of its name here with `score(weights, config, head, relation, tail)` and `CASES`, the
settings to test it with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy.typing as npt

Vector = list[float]
Weights = Mapping[str, npt.NDArray[Any]]
Case = dict[str, Any]

GEOMETRIES: list[Case] = [
    {"dim": 5, "p_norm": norm, "projected_constraint": projected, "entity_constraint": "unit"}
    for norm, projected in product((1, 2), ("unit", "ball", "none"))
]


def multiply(matrix: npt.NDArray[Any], vector: Vector) -> Vector:
    return [sum(float(matrix[i, j]) * vector[j] for j in range(len(vector))) for i in range(len(matrix))]


def limit(vector: Vector, length: str) -> Vector:
    size = math.sqrt(sum(value * value for value in vector))
    if length == "none" or (length == "ball" and size <= 1):
        return vector
    return [value / size for value in vector]


def score_translation(head: Vector, relation: Vector, tail: Vector, config: Any) -> float:
    head, tail = limit(head, config.projected_constraint), limit(tail, config.projected_constraint)
    gaps = [abs(h + r - t) for h, r, t in zip(head, relation, tail, strict=True)]
    return -sum(gaps) if config.p_norm == 1 else -math.sqrt(sum(gap * gap for gap in gaps))


def full_matrix(weights: Weights, name: str, relation: int, dim: int) -> npt.NDArray[Any]:
    return weights[name][relation].reshape(dim, dim)


def look_up(weights: Weights, head: int, relation: int, tail: int) -> tuple[Vector, Vector, Vector]:
    """Return the embeddings of a triple."""
    rows = weights["entities"][head], weights["relations"][relation], weights["entities"][tail]
    return rows[0].tolist(), rows[1].tolist(), rows[2].tolist()
