from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Weights, full_matrix, look_up, multiply, score_translation

CASES = GEOMETRIES


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    of_head = full_matrix(weights, "project_head.weight", relation, config.dim)
    of_tail = full_matrix(weights, "project_tail.weight", relation, config.dim)
    return score_translation(multiply(of_head, h), r, multiply(of_tail, t), config)
