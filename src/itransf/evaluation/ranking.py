"""Where the true entity stands among all entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Triples
from itransf.data.known import KnownIndex
from itransf.evaluation.ranking_cuda import can_rank_on_device, rank_on_device
from itransf.models.base import SIDES, Model, QueryModel, Side
from itransf.ops.counting import count_closer
from itransf.ops.distance import Norm
from itransf.ops.ranks import CHUNK_MEMORY, count_by_scores
from itransf.progress import track

Ties = Literal["realistic", "optimistic", "pessimistic"]
Integers = npt.NDArray[np.int64]
Counts = tuple[Tensor, Tensor]
Counter = Callable[..., Counts]
DEFAULT_MEMORY = CHUNK_MEMORY
MOST_TRIPLES = 4096  # counted between two signs of progress


@dataclass(frozen=True)
class Ranks:
    """Counts of rivals for each triple and side; ranks follow from them under any tie policy.

    Attributes:
        triples: The triples ranked, (n, 3).
        above: Entities scoring above the true one: (2 protocols, 2 sides, n); protocols are filtered, raw; sides
            are head, tail.
        tied: Other entities scoring the same, in the same shape.
        rivals: How many entities the true one was compared with, in the same shape.
    """

    triples: Triples
    above: Integers
    tied: Integers
    rivals: Integers

    def ranks(self, side: Side, filtered: bool = True, ties: Ties = "realistic") -> npt.NDArray[np.float64]:
        """Return the rank of each triple's entity on `side`, from one."""
        place = (0 if filtered else 1, SIDES.index(side))
        share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
        return np.asarray(1.0 + self.above[place] + share * self.tied[place])


@dataclass(frozen=True)
class Questions:
    """What is asked about one side of triples, sorted by relation and anchor; what is asked twice stands there once.

    Attributes:
        relations: Of each question, (q,).
        anchors: The entity on the other side, (q,).
        offsets: Where each question's known answers begin in `known`, (q + 1,).
        known: Entities known to answer it.
        triples: The triples in the order of their questions, (n,).
        answers: Of each of those triples, (n,).
        places: The question of each of those triples, (n,).
    """

    relations: Integers
    anchors: Integers
    offsets: Integers
    known: Integers
    triples: Integers
    answers: Integers
    places: Integers


@torch.no_grad()
def rank_triples(
    model: Model,
    triples: Triples,
    known: KnownIndex,
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
) -> Ranks:
    """Rank the true head and tail of every triple among all entities, filtered and raw.

    The entity table is projected once per relation and side. Where closer entities can be counted as they are
    measured, no scores are kept at all; elsewhere they are made in chunks of at most `memory` bytes.

    Args:
        model: What scores.
        triples: The triples, (n, 3).
        known: The triples that are no rivals in the filtered protocol.
        memory: Bytes for one chunk of scores.
        progress: Whether to show it.
    """
    if can_rank_on_device(model):
        return Ranks(triples, *rank_on_device(model, triples, known, memory, progress))
    above, tied, rivals = (np.zeros((2, len(SIDES), len(triples)), dtype=np.int64) for _ in range(3))
    rivals += model.sizes.entities - 1
    device = next(model.parameters()).device
    with track("ranking", 2 * len(triples), "queries", progress) as tracker:
        for number, side in enumerate(SIDES):
            questions = ask(triples, known, side)
            # The answer itself is no rival, whether or not it is among the known.
            rivals[0, number, questions.triples] -= np.diff(questions.offsets)[questions.places]
            rivals[0, number] += known.contains(triples)
            for relation, parts in split_by_relation(questions):
                count = prepare_counting(model, relation, side, memory)
                for part in parts:
                    rows = questions.triples[part]
                    counts = count(*select(questions, part, device))
                    above[:, number, rows], tied[:, number, rows] = (x.cpu().numpy() for x in counts)
                    tracker.advance(len(rows))
    return Ranks(triples, above, tied, rivals)


def ask(triples: Triples, known: KnownIndex, side: Side) -> Questions:
    """Return the questions whose answers are the entities on `side`, with all that is known to answer them."""
    heads, relations, tails = triples.T
    anchors, answers = (heads, tails) if side == "tail" else (tails, heads)
    order = np.lexsort((anchors, relations))
    anchors, relations, answers = anchors[order], relations[order], answers[order]
    fresh = np.append(True, (np.diff(anchors) != 0) | (np.diff(relations) != 0))[: len(order)]
    places = np.cumsum(fresh) - 1
    anchors, relations = anchors[fresh], relations[fresh]
    offsets, values = known.tails(anchors, relations) if side == "tail" else known.heads(relations, anchors)
    return Questions(relations, anchors, offsets, values, order, answers, places)


def split_by_relation(questions: Questions) -> Iterator[tuple[int, list[slice]]]:
    """Yield each relation with its triples, as ranges of at most MOST_TRIPLES."""
    relations = questions.relations[questions.places]  # (n,)
    bounds = np.flatnonzero(np.diff(relations, prepend=-1, append=-1)).tolist()
    for start, stop in pairwise(bounds):
        parts = [slice(first, min(first + MOST_TRIPLES, stop)) for first in range(start, stop, MOST_TRIPLES)]
        yield int(relations[start]), parts


def select(questions: Questions, part: slice, device: torch.device) -> list[Tensor]:
    """Return anchors, answers, offsets, known and places of a range of triples as if there were no others."""
    places = questions.places[part]
    first, last = places[0], places[-1] + 1
    offsets = questions.offsets[first : last + 1]
    known = questions.known[offsets[0] : offsets[-1]]
    arrays = (questions.anchors[first:last], questions.answers[part], offsets - offsets[0], known, places - first)
    return [torch.from_numpy(array).to(device) for array in arrays]


def prepare_counting(model: Model, relation: int, side: Side, memory: int) -> Counter:
    """Return what counts rivals for questions about one relation; the entity table is projected here, once."""
    if isinstance(model, QueryModel) and model.compare != "dot":
        norm: Norm = 1 if model.compare == "l1" else 2
        wanted = torch.tensor([relation], device=next(model.parameters()).device)
        table = model.candidates(wanted, side, model.pool())[0]

        def count_in_table(anchors: Tensor, answers: Tensor, offsets: Tensor, known: Tensor, places: Tensor) -> Counts:
            queries = model.queries(anchors, torch.full_like(anchors, relation), side)
            return count_closer(queries, table, answers, offsets, known, norm, places, memory)

        return count_in_table
    scorer = model.scorer(relation, side)

    def count_in_scores(anchors: Tensor, answers: Tensor, offsets: Tensor, known: Tensor, places: Tensor) -> Counts:
        entities = model.sizes.entities
        return count_by_scores(lambda rows: scorer(anchors[rows]), entities, answers, offsets, known, places, memory)

    return count_in_scores
