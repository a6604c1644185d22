from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Weights, add_steps, find_paths, look_up, measure, score_translation

CASES = [{**geometry, "paths": 5, "fan_out": 2 + number % 2} for number, geometry in enumerate(GEOMETRIES)]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    total = score_translation(h, r, t, config)
    for slot, share in find_paths(weights, config, head, relation, tail):
        gap = [a - b for a, b in zip(add_steps(weights, relation, slot), r, strict=True)]
        confidence = float(weights["confidence"][relation, slot])
        total += share * confidence * (config.path_bonus - measure(gap, config))
    return total
