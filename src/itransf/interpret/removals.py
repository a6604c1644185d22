"""What would change an answer: ranking it again without one concept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from itransf.data.graph import Graph
from itransf.interpret.rivals import Triple, hold_contest
from itransf.interpret.spaces import DEFAULT_MEMORY, Space
from itransf.models import SIDES, Side

MOST_TRIED = 8
"""The most concepts of a side that are tried, heaviest first: a dense attention has hundreds."""


@dataclass(frozen=True)
class Removal:
    """How an answer stands once a concept is gone from one side of its relation.

    Attributes:
        side: The side that lost the concept.
        concept: Its number.
        weight: The attention it had; the others of the side are scaled to sum to one again.
        score: The triple's score without it.
        rank: The answer's rank without it.
    """

    side: Side
    concept: int
    weight: float
    score: float
    rank: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON."""
        return asdict(self)


def try_removals(space: Space, graph: Graph, triple: Triple, side: Side, memory: int = DEFAULT_MEMORY) -> list[Removal]:
    """Rank a triple's answer without each concept of its relation in turn, the worst rank first.

    Nothing is trained: entities, translation and the other concepts stay as they are. A concept that is the only one
    of its side cannot be removed.

    Args:
        space: Of the triple's relation.
        graph: The known triples.
        triple: The triple.
        side: Where the answer stands.
        memory: Bytes for projected entities.
    """
    found = []
    for changed in SIDES:
        parts = space.parts[changed]
        heaviest = sorted(range(len(parts)), key=lambda place: -abs(parts[place].weight or 0.0))[:MOST_TRIED]
        for place in heaviest:
            left = space.without(changed, place)
            concept, weight = parts[place].concept, parts[place].weight
            if left is None or concept is None or weight is None:
                continue
            contest = hold_contest(left, graph, triple, side, memory)
            found.append(Removal(changed, concept, weight, contest.score, contest.rank))
    return sorted(found, key=lambda removal: (-removal.rank, removal.score))
