"""Counting the candidates that are closer to a query than its answer, by the fastest means there is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from itransf.ops.counting_cuda import count_closer_cuda, has_triton
from itransf.ops.distance import Norm, pairwise_distance
from itransf.ops.ranks import CHUNK_MEMORY, count_by_scores, repeat_lists


def count_closer(
    queries: Tensor,
    table: Tensor,
    answers: Tensor,
    offsets: Tensor,
    known: Tensor,
    norm: Norm,
    places: Tensor | None = None,
    memory: int = CHUNK_MEMORY,
) -> tuple[Tensor, Tensor]:
    """Count, for each answer, the candidates closer to its query than it is, and those as close.

    Compiled kernels never write a matrix of distances. They run where numba (CPU, the extra `fast`) or triton (CUDA)
    is installed; elsewhere distances are made and compared in chunks. All of them measure an answer as they measure
    its rivals, so it can neither beat nor lose to itself.

    Args:
        queries: (q, d)
        table: The candidates, (n, d).
        answers: The true candidates: of each query, (q,); or with `places` any number for each, (f,).
        offsets: Where each query's known candidates begin in `known`, (q + 1,).
        known: Candidates known to be right, without repetition, the answer among them or not; they are no rivals.
        norm: The distance.
        places: The query that each answer belongs to, ascending, (f,); None: each query has one.
        memory: Bytes for one chunk of distances, where those are made.

    Returns:
        (above, tied), both (2, f), filtered first, raw second, neither counting the answer itself.
    """
    if places is None:
        places = torch.arange(len(queries), device=queries.device)
    if queries.dtype == torch.float32:  # what the kernels are compiled for
        if queries.is_cuda and has_triton():
            lists = repeat_lists(offsets, known, places)
            return count_closer_cuda(queries[places], table, answers, *lists, norm)
        if queries.device.type == "cpu" and (count_compiled := load_compiled()):
            return count_compiled(queries, table, answers, offsets, known, norm, places)

    score = prepare_scores(queries, table, norm)
    return count_by_scores(score, len(table), answers, offsets, known, places, memory)


def prepare_scores(queries: Tensor, table: Tensor, norm: Norm) -> Callable[[slice], Tensor]:
    """Return a function from a range of queries to scores (q, n) that order candidates as their distances do.

    The scores for l2 come from matrix products: exact for small whole numbers, else rounded as the vectors' squared
    lengths are, and equal candidates may differ by such a rounding.
    """
    if norm == 1:
        return lambda rows: -pairwise_distance(queries[rows], table, norm)
    turned, lengths = table.t().contiguous(), torch.linalg.vecdot(table, table)
    # |q - c|^2 = |q|^2 + |c|^2 - 2 q.c, of which the first is the same for all candidates of a query.
    return lambda rows: torch.addmm(lengths, queries[rows], turned, beta=-1.0, alpha=2.0)


@cache
def load_compiled() -> Callable[..., tuple[Tensor, Tensor]] | None:
    """Return what counts on the CPU, compiled, or None where numba is not installed or does not fit."""
    try:
        from itransf.ops.counting_cpu import count_closer_cpu  # noqa: PLC0415 (an optional extra)
    except ImportError:
        return None
    return count_closer_cpu
