from __future__ import annotations

from typing import Any

from contracts.references import GEOMETRIES, Weights, add_steps, find_paths, limit, measure, multiply
from contracts.references.itransf import composed_matrix
from contracts.references.itransf import score as score_direct

CASES = [
    {**geometry, "concepts": 6, "support_size": 2, "paths": 5, "path_attention": ("own", "composed")[number % 2]}
    for number, geometry in enumerate(GEOMETRIES)
]


def path_energy(weights: Weights, config: Any, head: int, relation: int, slot: int, tail: int) -> float:
    first, second = weights["paths"][relation, slot].tolist()
    ends = {"head": (head, first), "tail": (tail, second or first)}
    vectors = []
    for side, (entity, step) in ends.items():
        at = side if step % 2 == 0 else {"head": "tail", "tail": "head"}[side]
        if config.path_attention == "own":
            path = relation * config.paths + slot
            support = {path: weights[f"project_{at}.support"][step // 2 - 1]}  # of the relation at this end
            own = {f"project_{side}.scores": weights[f"path_projections.{side}.scores"]}
            matrix = composed_matrix({**weights, **own, f"project_{side}.support": support}, side, path, config)
        else:
            matrix = composed_matrix(weights, at, step // 2 - 1, config)
        vectors.append(limit(multiply(matrix, weights["entities"][entity].tolist()), config.projected_constraint))
    middle = add_steps(weights, relation, slot)
    return measure([h + p - t for h, p, t in zip(vectors[0], middle, vectors[1], strict=True)], config)


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    total = score_direct(weights, config, head, relation, tail)
    for slot, share in find_paths(weights, config, head, relation, tail):
        energy = path_energy(weights, config, head, relation, slot, tail)
        total += share * float(weights["confidence"][relation, slot]) * (config.path_bonus - energy)
    return total
