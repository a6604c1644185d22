from __future__ import annotations

from typing import Any

from contracts.references import Case, Weights

CASES: list[Case] = [{"dim": 5, "concepts": 6, "support_size": 3}, {"dim": 4, "concepts": 5, "support_size": 5}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    d, symmetric = config.dim, (config.concepts + 1) // 2
    h, t = ([complex(row[i], row[d + i]) for i in range(d)] for row in weights["entities"][[head, tail]])
    total = 0.0
    for concept in weights["attention.support"][relation]:
        vector = weights["concepts"][concept] * (1 if concept < symmetric else 1j)
        part = sum((a * b * c.conjugate()).real for a, b, c in zip(h, vector, t, strict=True))
        total += weights["attention.scores"][relation, concept] * part
    return total
