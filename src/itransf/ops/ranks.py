"""Ranks by counting."""

from __future__ import annotations

import torch
from torch import Tensor


def count_rivals(scores: Tensor, answers: Tensor, offsets: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """Count, for each query, the candidates that score above its answer and those that tie with it.

    The answer's score is read from the same matrix as its rivals', so it can neither beat nor lose to itself.

    Args:
        scores: (q, e), higher is better.
        answers: The true candidate of each query, (q,).
        offsets: Where each query's known candidates begin in `known`, (q + 1,).
        known: Candidates known to be right, the answer among them or not; they are no rivals.

    Returns:
        (above, tied), both (q,), neither counting the answer itself nor known candidates; then the same two
        counts with known candidates included, stacked: above and tied are (2, q), filtered first, raw second.
    """
    queries = torch.arange(len(answers), device=scores.device)
    true = scores[queries, answers]  # (q,)
    broken = true.isnan()  # a model that diverged: its answer comes last
    above = torch.where(broken, scores.shape[1] - 1, (scores > true[:, None]).sum(1))
    tied = torch.where(broken, 0, (scores == true[:, None]).sum(1) - 1)  # less the answer itself
    rows = torch.repeat_interleave(queries, offsets.diff())
    others = known != answers[rows]
    rows, columns = rows[others], known[others]
    known_scores = scores[rows, columns]
    beats = (known_scores > true[rows]) | broken[rows]
    known_above = torch.zeros_like(above).index_add_(0, rows, beats.to(above.dtype))
    known_tied = torch.zeros_like(tied).index_add_(0, rows, (known_scores == true[rows]).to(tied.dtype))
    return torch.stack([above - known_above, above]), torch.stack([tied - known_tied, tied])
