"""How a triple's answer stands among its rivals, and which of them comes closest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from itransf.data.graph import Graph
from itransf.evaluation.ranking import refuse_nan
from itransf.interpret.spaces import DEFAULT_MEMORY, Space
from itransf.models import Side
from itransf.ops.distance import pairwise_distance
from itransf.prediction.predict import EXCLUDED, exclude

Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Contest:
    """An answer among the candidates on its side.

    Attributes:
        score: The answer's score.
        rank: Its place, from 1; a rival with the same score counts half.
        candidates: How many there are, the answer among them.
        rival: The best other candidate; None where there is no other.
    """

    score: float
    rank: float
    candidates: int
    rival: int | None


def split_triple(triple: Triple, side: Side) -> tuple[int, int]:
    """Return the entity that is given and the one that is asked for on `side`."""
    head, _, tail = triple
    return (head, tail) if side == "tail" else (tail, head)


def replace_answer(triple: Triple, side: Side, entity: int) -> Triple:
    """Return the triple with another entity on `side`."""
    head, relation, tail = triple
    return (head, relation, entity) if side == "tail" else (entity, relation, tail)


@torch.no_grad()
def hold_contest(space: Space, graph: Graph, triple: Triple, side: Side, memory: int = DEFAULT_MEMORY) -> Contest:
    """Compare the answer on `side` with all entities that could stand there.

    As in prediction, known answers are no rivals, nor is an entity the answer to itself, unless train has such triples.
    """
    anchor, answer = split_triple(triple, side)
    scores = score_everyone(space, anchor, side, memory)  # (1, e)
    own = float(scores[0, answer])
    given = np.array([anchor])
    _, known = graph.known.tails(given, triple[1]) if side == "tail" else graph.known.heads(triple[1], given)
    hidden = [known, np.array([answer])]
    if not graph.statistics.has_loops[triple[1]]:
        hidden.append(np.array([anchor]))
    nobodies = np.concatenate(hidden)
    exclude(scores, np.zeros_like(nobodies), nobodies, None)
    above, level = int((scores > own).sum()), int((scores == own).sum())
    others = int((scores != EXCLUDED).sum())
    rival = int(scores.argmax()) if others else None
    return Contest(own, 1.0 + above + 0.5 * level, others + 1, rival)


def score_everyone(space: Space, anchor: int, side: Side, memory: int = DEFAULT_MEMORY) -> Tensor:
    """Return the score of every entity on `side`, given the entity on the other, (1, e)."""
    given: Side = "head" if side == "tail" else "tail"
    sign = 1.0 if side == "tail" else -1.0
    wanted = space.place(torch.tensor([anchor], device=space.translation.device), given) + sign * space.translation
    scores = wanted.new_empty(1, space.model.sizes.entities)
    for rows, table in space.place_all(side, memory):
        scores[:, rows] = -pairwise_distance(wanted, table, space.model.config.p_norm)
    return refuse_nan(scores)
