"""Choosing the best of many scores."""

from __future__ import annotations

import torch
from torch import Tensor

from itransf.errors import ITransFError


def select_best(scores: Tensor, top: int) -> tuple[Tensor, Tensor]:
    """Return the best scores of each row and their columns, best first, equal scores by column.

    Args:
        scores: (q, n), higher is better; not-a-number is nowhere among them.
        top: How many per row; fewer where there are fewer columns.

    Returns:
        Scores and columns, both (q, min(top, n)).
    """
    top = min(top, scores.shape[1])
    if top == 0 or scores.shape[0] == 0:
        return scores[:, :top], torch.zeros_like(scores[:, :top], dtype=torch.int64)
    # topk may take any of several equal scores, so it only tells the last score that is good enough.
    last = scores.topk(top, dim=1).values[:, -1:]  # (q, 1)
    chosen = scores >= last
    if int(chosen.sum()) > top * len(scores):
        level = scores == last
        missing = top - (scores > last).sum(1, keepdim=True)  # places left for those on the last score
        chosen &= ~level | (level.cumsum(1, dtype=torch.int32) <= missing)
    columns = chosen.nonzero()[:, 1].view(-1, top)  # ascending in each row
    best, order = scores.gather(1, columns).sort(dim=1, descending=True, stable=True)
    return best, columns.gather(1, order)


def refuse_broken(scores: Tensor) -> Tensor:
    """Return the scores, refusing any that is not a number: no order could be made of them."""
    if bool(scores.isnan().any()):
        raise ITransFError(
            "the model gives scores that are not numbers, so its training has diverged; "
            "train it again with a lower learning rate"
        )
    return scores
