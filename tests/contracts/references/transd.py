from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Vector, Weights, look_up, score_translation

CASES = GEOMETRIES


def project(row: Vector, vector: Vector) -> Vector:
    d = len(vector)
    factor = sum(row[i] * row[d + i] for i in range(d))
    return [row[i] + factor * vector[i] for i in range(d)]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    vector = weights["project_head.vectors"][relation].tolist()
    return score_translation(project(h, vector), r, project(t, vector), config)
