"""Every model once more, for one triple at a time, in plain loops: what the fast code must equal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = list[float]
Weights = Mapping[str, npt.NDArray[Any]]
Reference = Callable[[Weights, Any, int, int, int], float]


def multiply(matrix: npt.NDArray[Any], vector: Vector) -> Vector:
    return [sum(float(matrix[i, j]) * vector[j] for j in range(len(vector))) for i in range(len(matrix))]


def limit(vector: Vector, length: str) -> Vector:
    size = math.sqrt(sum(value * value for value in vector))
    if length == "none" or (length == "ball" and size <= 1):
        return vector
    return [value / size for value in vector]


def score_translation(head: Vector, relation: Vector, tail: Vector, config: Any) -> float:
    head, tail = limit(head, config.projected_constraint), limit(tail, config.projected_constraint)
    gaps = [abs(h + r - t) for h, r, t in zip(head, relation, tail, strict=True)]
    return -sum(gaps) if config.p_norm == 1 else -math.sqrt(sum(gap * gap for gap in gaps))


def full_matrix(weights: Weights, name: str, relation: int, dim: int) -> npt.NDArray[Any]:
    return weights[name][relation].reshape(dim, dim)


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


def transe(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = weights["entities"][head], weights["relations"][relation], weights["entities"][tail]
    return score_translation(h.tolist(), r.tolist(), t.tolist(), config)


def transr(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = weights["entities"][head], weights["relations"][relation], weights["entities"][tail]
    matrix = full_matrix(weights, "project_head.weight", relation, config.dim)
    return score_translation(multiply(matrix, h.tolist()), r.tolist(), multiply(matrix, t.tolist()), config)


def stranse(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = weights["entities"][head], weights["relations"][relation], weights["entities"][tail]
    of_head = full_matrix(weights, "project_head.weight", relation, config.dim)
    of_tail = full_matrix(weights, "project_tail.weight", relation, config.dim)
    return score_translation(multiply(of_head, h.tolist()), r.tolist(), multiply(of_tail, t.tolist()), config)


def itransf(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = weights["entities"][head], weights["relations"][relation], weights["entities"][tail]
    of_head = composed_matrix(weights, "head", relation, config)
    of_tail = composed_matrix(weights, "tail", relation, config)
    return score_translation(multiply(of_head, h.tolist()), r.tolist(), multiply(of_tail, t.tolist()), config)


REFERENCES: dict[str, Reference] = {
    "transe": transe,
    "transr": transr,
    "stranse": stranse,
    "itransf": itransf,
}
