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

TRAIN = [(h, r, (5 * h + 3 * r + s) % 7) for h in range(7) for r in range(4) for s in range(3) if (h + 2 * r + s) % 4]
"""Training triples of the models under test: 7 entities, 4 relations; some heads are their tails."""

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


def find_paths(weights: Weights, config: Any, head: int, relation: int, tail: int) -> list[tuple[int, float]]:
    """Return the slot of each path of the relation between two entities, and the resource that arrives over it."""
    links = {entity: {0: {entity}} for entity in range(7)}  # by step: 0 stays, 2 r + 2 is r forwards, 2 r + 3 backwards
    for h, r, t in TRAIN:
        if h != t:
            links[h].setdefault(2 * r + 2, set()).add(t)
            links[t].setdefault(2 * r + 3, set()).add(h)
    found = []
    for slot, (first, second) in enumerate(weights["paths"][relation].tolist()):
        for middle in links[head].get(first, ()) if head != tail else ():
            ends = links[middle].get(second, set())
            fans = len(links[head][first]), len(ends)
            if tail in ends and max(fans) <= config.fan_out:
                found.append((slot, 1.0 if config.binary else 1 / (fans[0] * fans[1])))
    return found


def add_steps(weights: Weights, relation: int, slot: int) -> Vector:
    """Return the sum of the vectors of a path's steps."""
    total = [0.0] * weights["relations"].shape[1]
    for step in weights["paths"][relation, slot].tolist():
        if step > 1:
            sign = -1 if step % 2 else 1
            total = [
                value + sign * float(more)
                for value, more in zip(total, weights["relations"][step // 2 - 1], strict=True)
            ]
    return total


def measure(vector: Vector, config: Any) -> float:
    """Return the length of a vector in the model's norm."""
    sizes = [abs(value) for value in vector]
    return sum(sizes) if config.p_norm == 1 else math.sqrt(sum(size * size for size in sizes))
