"""Counting the candidates that are closer to a query than its answer, by the fastest means there is."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from itransf.ops.counting_cuda import count_closer_cuda, has_triton
from itransf.ops.distance import Norm, pairwise_distance
from itransf.ops.ranks import DEFAULT_MEMORY, count_by_scores, repeat_lists

COMPILED_FOR = (torch.float32, torch.float64)


def count_closer(
    queries: Tensor,
    table: Tensor,
    answers: Tensor,
    offsets: Tensor,
    known: Tensor,
    norm: Norm,
    places: Tensor | None = None,
    memory: int = DEFAULT_MEMORY,
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
    if queries.is_cuda and queries.dtype == torch.float32 and has_triton():
        lists = repeat_lists(offsets, known, places)
        return count_closer_cuda(queries[places], table, answers, *lists, norm)
    count_compiled = load_compiled()
    if count_compiled is not None and queries.device.type == "cpu" and queries.dtype in COMPILED_FOR:
        return count_compiled(queries, table, answers, offsets, known, norm, places)

    def score(rows: slice) -> Tensor:
        return -pairwise_distance(queries[rows], table, norm)

    return count_by_scores(score, len(table), answers, offsets, known, places, memory)


@cache
def load_compiled() -> Callable[..., tuple[Tensor, Tensor]] | None:
    """Return what counts on the CPU, compiled, or None where numba is not installed or does not fit."""
    try:
        from itransf.ops.counting_cpu import count_closer_cpu  # noqa: PLC0415 (an optional extra)
    except ImportError:
        return None
    return count_closer_cpu
