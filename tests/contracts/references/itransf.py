from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from contracts.references import GEOMETRIES, Vector, Weights, look_up, multiply, score_translation

CASES = [
    {**geometry, "concepts": 6, "support_size": 2, "attention": attention}
    for geometry in GEOMETRIES
    for attention in ("sparse", "dense", "l1")
]


def attend(scores: npt.NDArray[Any], support: npt.NDArray[Any], config: Any) -> Vector:
    """The paper's SparseSoftmax, written with its 0/1 assignment vector I."""
    if config.attention == "l1":
        return [float(value) for value in scores]
    everything = config.attention == "dense"
    assignment = [1 if everything or i in support.tolist() else 0 for i in range(len(scores))]
    raised = [math.exp(v / config.temperature) * used for v, used in zip(scores, assignment, strict=True)]
    return [value / sum(raised) for value in raised]


def composed_matrix(weights: Weights, side: str, relation: int, config: Any) -> npt.NDArray[Any]:
    scores, support = (
        weights[f"project_{side}.scores"][relation],
        weights[f"project_{side}.support"][relation],
    )
    total = np.zeros((config.dim, config.dim))
    for weight, concept in zip(attend(scores, support, config), weights["concepts"], strict=True):
        total = total + weight * concept
    return total


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    of_head = composed_matrix(weights, "head", relation, config)
    of_tail = composed_matrix(weights, "tail", relation, config)
    return score_translation(multiply(of_head, h), r, multiply(of_tail, t), config)
