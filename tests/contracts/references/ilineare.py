from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Vector, Weights, look_up, score_translation

CASES = [{**geometry, "concepts": 6, "support_size": 2} for geometry in GEOMETRIES]


def scale(weights: Weights, side: str, relation: int, vector: Vector) -> Vector:
    scaled = [0.0] * len(vector)
    for concept in weights[f"project_{side}.support"][relation]:
        weight = weights[f"project_{side}.scores"][relation, concept]
        for i, entry in enumerate(weights["concepts"][concept]):
            scaled[i] += float(weight * entry) * vector[i]
    return scaled


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    return score_translation(scale(weights, "head", relation, h), r, scale(weights, "tail", relation, t), config)
