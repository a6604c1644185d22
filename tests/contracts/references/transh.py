from __future__ import annotations

import math
from typing import Any

from contracts.references import GEOMETRIES, Vector, Weights, look_up, score_translation

CASES = GEOMETRIES


def drop_normal(vector: Vector, normal: Vector) -> Vector:
    length = math.sqrt(sum(w * w for w in normal))
    along = sum(v * w / length for v, w in zip(vector, normal, strict=True))
    return [v - along * w / length for v, w in zip(vector, normal, strict=True)]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    normal = weights["project_head.normals"][relation].tolist()
    return score_translation(drop_normal(h, normal), r, drop_normal(t, normal), config)
