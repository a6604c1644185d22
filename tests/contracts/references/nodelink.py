from __future__ import annotations

from typing import Any

from contracts.references import Case, Weights, find_paths

CASES: list[Case] = [{"paths": 6}, {"paths": 6, "binary": False}]


def score(weights: Weights, config: Any, head: int, relation: int, tail: int) -> float:
    links = find_paths(weights, config, head, relation, tail)
    of_head, of_tail = (weights[name].reshape(len(weights["relations"]), -1) for name in ("heads", "tails"))
    nodes = of_head[relation, head] + of_tail[relation, tail]
    own = weights["relations"][relation]
    return float(own[-1] + nodes + sum(share * own[slot] for slot, share in links))
