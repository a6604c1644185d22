from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Weights, look_up, score_translation

CASES = GEOMETRIES


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    for_head, for_tail = (weights[f"project_{side}.weight"][relation].tolist() for side in ("head", "tail"))
    moved_head = [w * x for w, x in zip(for_head, h, strict=True)]
    moved_tail = [w * x for w, x in zip(for_tail, t, strict=True)]
    return score_translation(moved_head, r, moved_tail, config)
