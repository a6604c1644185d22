from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Weights, look_up, score_translation

CASES = GEOMETRIES


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    return score_translation(*look_up(weights, head, relation, tail), config)
