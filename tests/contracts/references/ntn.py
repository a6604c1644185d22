from __future__ import annotations

import math
from typing import Any

from contracts.references import Case, Weights

CASES: list[Case] = [{"dim": 3, "slices": 2}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    d = config.dim
    h, t = weights["entities"][head].tolist(), weights["entities"][tail].tolist()
    total = 0.0
    for s in range(config.slices):
        tensor = weights["tensors"][relation].reshape(config.slices, d, d)[s]
        layer = weights["layers"][relation].reshape(config.slices, 2 * d)[s]
        value = float(weights["biases"][relation][s])
        value += sum(h[i] * float(tensor[i, j]) * t[j] for i in range(d) for j in range(d))
        value += sum(float(w) * x for w, x in zip(layer, h + t, strict=True))
        total += float(weights["outputs"][relation][s]) * math.tanh(value)
    return total
