"""Splits the triples into train, valid and test, relation by relation."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable

Triple = tuple[str, str, str]

RARE = 60
LEAST_IN_TRAIN = 1  # triples each name keeps in train


def split(triples: Iterable[Triple], seed: int) -> dict[str, list[Triple]]:
    """About 80/10/10 in every relation; every name and relation stays in train."""
    by_relation: dict[str, list[Triple]] = defaultdict(list)
    for triple in sorted(triples):
        by_relation[triple[1]].append(triple)
    left = Counter(name for rows in by_relation.values() for head, _, tail in rows for name in (head, tail))
    draw = random.Random(seed)
    parts: dict[str, list[Triple]] = {"train": [], "valid": [], "test": []}
    for relation in sorted(by_relation, key=lambda name: (len(by_relation[name]), name)):
        rows = by_relation[relation]
        draw.shuffle(rows)
        wanted = {"test": count_held_out(len(rows)), "valid": count_held_out(len(rows))}
        for triple in rows:
            part = _choose_part(triple, wanted, left)
            parts[part].append(triple)
            if part != "train":
                wanted[part] -= 1
                left.subtract((triple[0], triple[2]))
    return {part: sorted(rows) for part, rows in parts.items()}


def count_held_out(total: int) -> int:
    """A tenth of a relation's triples, and at least four of a rare one that has twenty or more."""
    least = 4 if 20 <= total < RARE else 2
    return max(least, round(total / 10))


def _choose_part(triple: Triple, wanted: dict[str, int], left: Counter[str]) -> str:
    if min(left[triple[0]], left[triple[2]]) <= LEAST_IN_TRAIN:
        return "train"
    return next((part for part in ("test", "valid") if wanted[part] > 0), "train")
