from __future__ import annotations

import math
from typing import Any

from contracts.references import Case, Vector, Weights, limit, look_up, multiply

CASES: list[Case] = [{"dim": 3, "memory": 4, "steps": 3}, {"dim": 2, "memory": 3, "steps": 2}]


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def update(weights: Weights, read: Vector, state: Vector) -> Vector:
    """A gated recurrent unit: reset and update gates, then the new state."""
    size = len(state)
    of_read = multiply(weights["controller.weight_ih"], read)
    of_state = multiply(weights["controller.weight_hh"], state)
    of_read = [x + float(b) for x, b in zip(of_read, weights["controller.bias_ih"], strict=True)]
    of_state = [x + float(b) for x, b in zip(of_state, weights["controller.bias_hh"], strict=True)]
    found = []
    for i in range(size):
        reset, kept = sigmoid(of_read[i] + of_state[i]), sigmoid(of_read[size + i] + of_state[size + i])
        new = math.tanh(of_read[2 * size + i] + reset * of_state[2 * size + i])
        found.append((1 - kept) * new + kept * state[i])
    return found


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    h, r, t = look_up(weights, head, relation, tail)
    state, left, output = h + r, 1.0, [0.0] * config.dim
    for step in range(config.steps):
        gate = multiply(weights["gate.weight"], state)[0] + float(weights["gate.bias"][0])
        stops = left if step == config.steps - 1 else left * sigmoid(gate)
        left -= stops
        for i, value in enumerate(multiply(weights["output.weight"], state)):
            output[i] += stops * (value + float(weights["output.bias"][i]))
        asked = limit(multiply(weights["asked.weight"], state), "unit")
        raised = []
        for row in weights["memory"]:
            key = limit(multiply(weights["keys.weight"], row.tolist()), "unit")
            raised.append(math.exp(10 * sum(a * b for a, b in zip(asked, key, strict=True))))
        read = [0.0] * len(state)
        for weight, row in zip(raised, weights["memory"], strict=True):
            read = [x + weight / sum(raised) * float(m) for x, m in zip(read, row, strict=True)]
        state = update(weights, read, state)
    return -sum(abs(a - b) for a, b in zip(output, t, strict=True))
