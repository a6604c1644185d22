from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Weights, full_matrix, look_up, multiply, score_translation

CASES = [{**geometry, "clusters": 3, "cluster_weight": 0.3} for geometry in GEOMETRIES]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    matrix = full_matrix(weights, "projection.weight", relation, config.dim)
    scores = []
    for offset in weights["clusters"][relation].reshape(config.clusters, config.dim).tolist():
        moved = [x + y for x, y in zip(r, offset, strict=True)]
        cost = config.cluster_weight * sum(x * x for x in offset)
        scores.append(score_translation(multiply(matrix, h), moved, multiply(matrix, t), config) - cost)
    return max(scores)
