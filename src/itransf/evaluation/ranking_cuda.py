"""Ranking on the GPU: many relations at once, counted where the vectors are, and moved to the host once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from itransf.data.graph import Triples
from itransf.data.known import KnownIndex
from itransf.models.base import SIDES, Model, QueryModel, Side
from itransf.ops.counting_cuda import DEFAULT_TILING, Counts, KnownLists, Tiling, count_grouped_cuda, has_triton
from itransf.progress import track

COPIES = 3  # of a projected table that live at once: as multiplied, as held to its length, turned
Integers = npt.NDArray[np.int64]


def can_rank_on_device(model: Model) -> TypeGuard[QueryModel]:
    """Return whether `rank_on_device` can rank for this model, where it is now."""
    first = next(model.parameters())
    fits = isinstance(model, QueryModel) and model.compare != "dot" and first.dtype == torch.float32
    return fits and first.is_cuda and has_triton()


@torch.no_grad()
def rank_on_device(
    model: QueryModel,
    triples: Triples,
    known: KnownIndex,
    memory: int,
    progress: bool = False,
    tiling: Tiling = DEFAULT_TILING,
) -> tuple[Integers, Integers, Integers]:
    """Count what stands against the true head and tail of every triple, filtered and raw.

    Args:
        model: What scores, by an l1 or l2 distance of float32 vectors.
        triples: The triples, (n, 3).
        known: The triples that are no rivals in the filtered protocol.
        memory: Bytes the projected tables of one turn may take.
        progress: Whether to show it.
        tiling: How the device's work is cut.

    Returns:
        (above, tied, rivals), each (2 protocols, 2 sides, n), as in `Ranks`.
    """
    order = np.argsort(triples[:, 1], kind="stable")
    triples = np.ascontiguousarray(triples[order])
    turns = list(cut_into_turns(triples[:, 1], _row_bytes(model), memory))
    counts = np.zeros((3, 2, len(SIDES), len(triples)), dtype=np.int64)
    if not len(triples):
        return counts[0], counts[1], counts[2]
    found: list[Tensor] = []
    with track("ranking", 2 * len(triples), "queries", progress) as tracker:
        for side in SIDES:
            batch = _Side(model, triples, known, side)
            for turn in turns:
                found.append(torch.stack(batch.count(*turn, tiling)))
                tracker.advance(turn[1] - turn[0])
        counts[..., order] = torch.cat(found, dim=-1).view(3, 2, len(SIDES), -1).cpu().numpy()
    return counts[0], counts[1], counts[2]


class _Side:
    """All questions for one side, on the model's device, sorted by relation.

    Everything is moved there once, as each small copy in between would wait for all work before it.
    """

    def __init__(self, model: QueryModel, triples: Triples, known: KnownIndex, side: Side) -> None:
        self.model, self.side, self.pool = model, side, model.pool()
        heads, relations, tails = triples.T
        anchors, answers = (heads, tails) if side == "tail" else (tails, heads)
        self.starts = np.flatnonzero(np.diff(relations, prepend=-1))  # where each distinct relation begins
        self.anchors, self.answers, self.relations = map(self._move, (anchors, answers, relations))
        self.offsets = self._move(np.append(self.starts, len(triples)))
        self.known = KnownLists(*map(self._move, look_up_known(known, anchors, relations, side)))

    def count(self, start: int, stop: int, tiling: Tiling) -> Counts:
        """Count for the questions from `start` to `stop`; each of their relations projects the table once."""
        first, last = np.searchsorted(self.starts, (start, stop - 1), side="right") - 1
        offsets = self.offsets[first : last + 2].clamp(start, stop)
        rows = slice(start, stop)
        return count_grouped_cuda(
            self.model.queries(self.anchors[rows], self.relations[rows], self.side),
            self.model.candidates(self.relations[offsets[:-1]], self.side, self.pool),
            offsets - start,
            self.answers[rows],
            KnownLists(self.known.starts[rows], self.known.ends[rows], self.known.values),
            1 if self.model.compare == "l1" else 2,
            tiling,
        )

    def _move(self, array: Integers) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(next(self.model.parameters()).device)


def look_up_known(
    known: KnownIndex, anchors: Integers, relations: Integers, side: Side
) -> tuple[Integers, Integers, Integers]:
    """Return where each question's known answers begin and end in a list, and the list.

    Questions that are asked twice share their answers, so the list is no longer than the known triples.
    """
    keys = anchors * (relations.max() + 1) + relations
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    anchors, relations = anchors[first], relations[first]
    offsets, values = known.tails(anchors, relations) if side == "tail" else known.heads(relations, anchors)
    return offsets[:-1][inverse], offsets[1:][inverse], values


def cut_into_turns(relations: Integers, row_bytes: tuple[int, int], memory: int) -> Iterator[tuple[int, int]]:
    """Cut questions sorted by relation into turns whose vectors fit the memory.

    Args:
        relations: Of each question, ascending, (q,).
        row_bytes: What one relation's projected tables take, and what one question takes.
        memory: Bytes for one turn; a turn has at least one relation and one question.

    Yields:
        Where each turn starts and stops.
    """
    ends = np.append(np.flatnonzero(np.diff(relations)) + 1, len(relations))
    at_once, most_rows = (max(1, memory // size) for size in row_bytes)
    start = 0
    while start < len(relations):
        last = min(int(np.searchsorted(ends, start, side="right")) + at_once, len(ends)) - 1
        stop = min(int(ends[last]), start + most_rows)
        yield start, stop
        start = stop


def _row_bytes(model: QueryModel) -> tuple[int, int]:
    """Return what one relation's projected tables take on the device, and what one question's vectors do."""
    vectors = model.pool().vectors
    assert vectors is not None, "models that compare by distance have vectors to compare with"
    per_row = COPIES * vectors.shape[1] * vectors.element_size()
    return len(vectors) * per_row, per_row
