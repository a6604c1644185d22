"""Ranks by counting."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

CHUNK_MEMORY = 512 * 2**20  # bytes one chunk of scores may take
BYTES_PER_SCORE = 12  # a float32 score, and what comparing it makes


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


def count_by_scores(
    score: Callable[[slice], Tensor],
    candidates: int,
    answers: Tensor,
    offsets: Tensor,
    known: Tensor,
    places: Tensor,
    memory: int = CHUNK_MEMORY,
) -> tuple[Tensor, Tensor]:
    """Count rivals of answers to queries that may be asked more than once, a chunk of scores at a time.

    Args:
        score: From a range of queries to their scores, (q, e).
        candidates: e, how many candidates there are.
        answers: The true candidates, (f,).
        offsets: Where each query's known candidates begin in `known`, (q + 1,).
        known: Candidates known to be right; they are no rivals.
        places: The query that each answer belongs to, ascending, (f,).
        memory: Bytes for one chunk of scores.

    Returns:
        (above, tied), both (2, f), as from `count_rivals`.
    """
    above, tied = (torch.zeros(2, len(answers), dtype=torch.int64, device=answers.device) for _ in range(2))
    chunk = max(1, memory // (BYTES_PER_SCORE * candidates))
    for start in range(0, len(answers), chunk):
        part = slice(start, start + chunk)
        first, last = int(places[part][0]), int(places[part][-1])
        scores = score(slice(first, last + 1))[places[part] - first]
        above[:, part], tied[:, part] = count_rivals(scores, answers[part], *repeat_lists(offsets, known, places[part]))
    return above, tied


def repeat_lists(offsets: Tensor, values: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Return the lists at these places as lists of their own; list i is values[offsets[i] : offsets[i + 1]]."""
    sizes = offsets.diff()[places]
    repeated = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    starts = torch.repeat_interleave(offsets[places] - repeated[:-1], sizes)
    return repeated, values[starts + torch.arange(len(starts), device=starts.device)]
