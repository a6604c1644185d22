from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Weights, score_translation

CASES = GEOMETRIES


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, t = (weights["entities"][end].tolist() for end in (head, tail))
    return score_translation(h, [0.0] * config.dim, t, config)
