"""Where the true entity stands among all entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch

from itransf.data.graph import Triples
from itransf.data.known import KnownIndex
from itransf.models.base import SIDES, Model, Side
from itransf.ops.ranks import count_rivals
from itransf.progress import track

Ties = Literal["realistic", "optimistic", "pessimistic"]
DEFAULT_MEMORY = 512 * 2**20  # bytes one chunk of scores may take
BYTES_PER_SCORE = 12  # a float32 score, and what comparing it makes


@dataclass(frozen=True)
class Ranks:
    """Counts of rivals for each fact and side; ranks follow from them under any tie policy.

    Attributes:
        triples: The facts ranked, (n, 3).
        above: Entities scoring above the true one: (2 protocols, 2 sides, n); protocols are filtered, raw; sides
            are head, tail.
        tied: Other entities scoring the same, in the same shape.
        rivals: How many entities the true one was compared with, in the same shape.
    """

    triples: Triples
    above: npt.NDArray[np.int64]
    tied: npt.NDArray[np.int64]
    rivals: npt.NDArray[np.int64]

    def ranks(self, side: Side, filtered: bool = True, ties: Ties = "realistic") -> npt.NDArray[np.float64]:
        """Return the rank of each fact's entity on `side`, from one."""
        place = (0 if filtered else 1, SIDES.index(side))
        share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
        return np.asarray(1.0 + self.above[place] + share * self.tied[place])


@torch.no_grad()
def rank_facts(
    model: Model,
    triples: Triples,
    known: KnownIndex,
    memory: int = DEFAULT_MEMORY,
    progress: bool = False,
) -> Ranks:
    """Rank the true head and tail of every fact among all entities, filtered and raw.

    The entity table is projected once per relation and side; scores are made in chunks of at most `memory` bytes
    and never kept.

    Args:
        model: What scores.
        triples: The facts, (n, 3).
        known: The facts that are no rivals in the filtered protocol.
        memory: Bytes for one chunk of scores.
        progress: Whether to show it.
    """
    shape = (2, len(SIDES), len(triples))
    above, tied, rivals = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    chunk = max(1, memory // (BYTES_PER_SCORE * model.sizes.entities))
    order = np.argsort(triples[:, 1], kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(triples[order, 1])) + 1) if len(order) else []
    with track("ranking", 2 * len(triples), "queries", progress) as tracker:
        for rows in groups:
            for number, side in enumerate(SIDES):
                scorer = model.scorer(int(triples[rows[0], 1]), side)
                for start in range(0, len(rows), chunk):
                    part = rows[start : start + chunk]
                    counts = _count(model, scorer, triples[part], known, side)
                    above[:, number, part], tied[:, number, part], rivals[:, number, part] = counts
                    tracker.advance(len(part))
    return Ranks(triples, above, tied, rivals)


def _count(
    model: Model, scorer: object, facts: Triples, known: KnownIndex, side: Side
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Count rivals above and tied, (2, q) each, and how many rivals there were."""
    heads, relations, tails = facts.T
    if side == "tail":
        anchors, answers, (offsets, values) = heads, tails, known.tails(heads, relations)
    else:
        anchors, answers, (offsets, values) = tails, heads, known.heads(relations, tails)
    device = next(model.parameters()).device
    move = [torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in (anchors, answers, offsets, values)]
    scores = scorer(move[0])  # type: ignore[operator]
    above, tied = count_rivals(scores, *move[1:])
    # The answer itself is no rival, whether or not it is among the known.
    own = np.add.reduceat(np.append(values == np.repeat(answers, np.diff(offsets)), False), offsets[:-1])
    own = np.where(np.diff(offsets) > 0, own, 0)
    everyone = np.full(len(facts), model.sizes.entities - 1)
    rivals = np.stack([everyone - (np.diff(offsets) - own), everyone])
    return above.cpu().numpy(), tied.cpu().numpy(), rivals
