from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Weights, full_matrix, multiply, score_translation

CASES = GEOMETRIES


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, t = (weights["entities"][end].tolist() for end in (head, tail))
    of_head = full_matrix(weights, "project_head.weight", relation, config.dim)
    of_tail = full_matrix(weights, "project_tail.weight", relation, config.dim)
    return score_translation(multiply(of_head, h), [0.0] * config.dim, multiply(of_tail, t), config)
