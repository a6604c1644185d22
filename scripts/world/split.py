"""Splits the facts into train, valid and test, relation by relation."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable

Fact = tuple[str, str, str]

RARE = 60
LEAST_IN_TRAIN = 1  # facts each name keeps in train


def split(facts: Iterable[Fact], seed: int) -> dict[str, list[Fact]]:
    """About 80/10/10 in every relation; every name and relation stays in train."""
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for fact in sorted(facts):
        by_relation[fact[1]].append(fact)
    left = Counter(name for rows in by_relation.values() for head, _, tail in rows for name in (head, tail))
    draw = random.Random(seed)
    parts: dict[str, list[Fact]] = {"train": [], "valid": [], "test": []}
    for relation in sorted(by_relation, key=lambda name: (len(by_relation[name]), name)):
        rows = by_relation[relation]
        draw.shuffle(rows)
        wanted = {"test": count_held_out(len(rows)), "valid": count_held_out(len(rows))}
        for fact in rows:
            part = _choose_part(fact, wanted, left)
            parts[part].append(fact)
            if part != "train":
                wanted[part] -= 1
                left.subtract((fact[0], fact[2]))
    return {part: sorted(rows) for part, rows in parts.items()}


def count_held_out(total: int) -> int:
    """A tenth of a relation's facts, and at least four of a rare one that has twenty or more."""
    least = 4 if 20 <= total < RARE else 2
    return max(least, round(total / 10))


def _choose_part(fact: Fact, wanted: dict[str, int], left: Counter[str]) -> str:
    if min(left[fact[0]], left[fact[2]]) <= LEAST_IN_TRAIN:
        return "train"
    return next((part for part in ("test", "valid") if wanted[part] > 0), "train")
