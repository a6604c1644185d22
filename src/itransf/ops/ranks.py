"""Ranks by counting the candidates that score above, or as high as, an answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from itransf.ops.distance import Counted, grouped_distance, grouped_modulus_distance
from itransf.ops.grouped import one_group

BYTES_PER_SCORE = 12  # a float32 score, a copy of it, and the result of comparing it
EXACT_SUM = 2**24  # the largest sum of ones that float32 holds


class Answers(NamedTuple):
    """Answers to queries, with the known candidates of each query.

    Attributes:
        answers: True candidates, any number of each query, (f,).
        queries: Query of each answer, ascending, (f,).
        offsets: Start of each query's known candidates in `known`, (q + 1,).
        known: Candidates left out of the filtered counts, without repetition; they may include the answer.
    """

    answers: Tensor
    queries: Tensor
    offsets: Tensor
    known: Tensor


def count_closer(queries: Tensor, table: Tensor, wanted: Answers, norm: Counted, memory: int) -> tuple[Tensor, Tensor]:
    """Count, for each answer, the candidates closer to its query, and those as close.

    On a CPU a compiled kernel runs if numba (the extra `fast`) is installed; it never writes a matrix of distances.
    Otherwise distances are computed and compared in chunks. Both compute an answer's distance exactly as those of its
    rivals, so it can neither beat nor lose to itself.

    Args:
        queries: (q, d)
        table: Candidates, (n, d).
        wanted: Answers to the queries.
        norm: Norm of the distance, or "moduli" of complex differences, real parts first.
        memory: Bytes for one chunk of distances.

    Returns:
        (above, tied), both (2, f), filtered first, raw second, neither counting the answer itself.
    """
    is_fit = queries.dtype == torch.float32 and queries.device.type == "cpu"  # for the kernel
    if is_fit and (count_compiled := load_compiled()):
        return count_compiled(queries, table, wanted, norm)
    score = prepare_scores(queries, table, norm)
    return count_by_scores(score, len(table), wanted, memory)


@cache
def load_compiled() -> Callable[..., tuple[Tensor, Tensor]] | None:
    """Return the compiled counting function of the CPU, or None if numba is not installed."""
    if find_spec("numba") is None:
        return None
    from itransf.ops.counting_cpu import count_closer_cpu  # noqa: PLC0415 (an optional extra)

    return count_closer_cpu


def prepare_scores(queries: Tensor, table: Tensor, norm: Counted) -> Callable[[slice], Tensor]:
    """Return a function from a range of queries to scores (q, n) that order candidates as their distances do.

    The scores for l2 come from matrix products: exact for small whole numbers, else rounded as the vectors' squared
    lengths are, so that equal candidates may differ by such a rounding.
    """
    if norm == "moduli":
        return lambda rows: -grouped_modulus_distance(queries[rows], table[None], one_group(queries[rows]))
    if norm == 1:
        return lambda rows: -grouped_distance(queries[rows], table[None], one_group(queries[rows]), norm)
    transposed, lengths = table.t().contiguous(), torch.linalg.vecdot(table, table)
    # |q - c|^2 = |q|^2 + |c|^2 - 2 q.c, and |q|^2 is the same for all candidates of a query.
    return lambda rows: torch.addmm(lengths, queries[rows], transposed, beta=-1.0, alpha=2.0)


def count_by_scores(
    score: Callable[[slice], Tensor], candidates: int, wanted: Answers, memory: int, rivals: int | None = None
) -> tuple[Tensor, Tensor]:
    """Count rivals of any number of answers to each query, one chunk of scores at a time.

    Args:
        score: Function from a range of queries to their scores, (q, e).
        candidates: Number of candidates, e.
        wanted: Answers to the queries.
        memory: Bytes for one chunk of scores.
        rivals: Number of candidates, from the first, that are rivals; by default all.

    Returns:
        (above, tied), both (2, f), as from `count_rivals`.
    """
    answers = wanted.answers
    above, tied = (torch.zeros(2, len(answers), dtype=torch.int64, device=answers.device) for _ in range(2))
    chunk = max(1, memory // (BYTES_PER_SCORE * candidates))
    for start in range(0, len(answers), chunk):
        part = slice(start, start + chunk)
        numbers = wanted.queries[part]
        first, last = int(numbers[0]), int(numbers[-1])
        scores, rows = score(slice(first, last + 1)), numbers - first
        if not torch.equal(rows, torch.arange(len(scores), device=rows.device)):
            scores = scores[rows]
        lists = repeat_lists(wanted.offsets, wanted.known, numbers)
        above[:, part], tied[:, part] = count_rivals(scores, answers[part], *lists, rivals)
    return above, tied


def count_rivals(
    scores: Tensor, answers: Tensor, offsets: Tensor, known: Tensor, rivals: int | None = None
) -> tuple[Tensor, Tensor]:
    """Count, for each query, the candidates that score above its answer and those that tie with it.

    Args:
        scores: (q, e), higher is better.
        answers: True candidate of each query, (q,).
        offsets: Start of each query's known candidates in `known`, (q + 1,).
        known: Candidates left out of the filtered counts; they may include the answer. All of them are rivals.
        rivals: Number of candidates, from the first, that are rivals; by default all.

    Returns:
        (above, tied), both (2, q), filtered first, raw second, neither counting the answer itself.
    """
    queries = torch.arange(len(answers), device=scores.device)
    true = scores[queries, answers]  # (q,)
    is_nan = true.isnan()  # a model that diverged: its answer comes last
    compared = scores[:, :rivals]
    itself = (answers < compared.shape[1]).to(answers.dtype)  # the answer is no rival of its own
    above = torch.where(is_nan, compared.shape[1] - itself, count_rows(torch.gt, compared, true))
    tied = torch.where(is_nan, 0, count_rows(torch.eq, compared, true) - itself)
    rows = torch.repeat_interleave(queries, offsets.diff())
    others = known != answers[rows]
    rows, columns = rows[others], known[others]
    known_scores = scores[rows, columns]
    beats = (known_scores > true[rows]) | is_nan[rows]
    known_above = torch.zeros_like(above).index_add_(0, rows, beats.to(above.dtype))
    known_tied = torch.zeros_like(tied).index_add_(0, rows, (known_scores == true[rows]).to(tied.dtype))
    return torch.stack([above - known_above, above]), torch.stack([tied - known_tied, tied])


def count_rows(compare: Callable[..., Tensor], scores: Tensor, true: Tensor) -> Tensor:
    """Count, in each row of scores (q, e), those that compare so with the row's own score (q,).

    On a CPU the sum of floating-point numbers is several times as fast as that of booleans. It is exact up to 2^24.
    """
    if scores.shape[1] > EXACT_SUM or scores.dtype not in (torch.float32, torch.float64):
        return compare(scores, true[:, None]).sum(1)
    return compare(scores, true[:, None], out=torch.empty_like(scores)).sum(1).long()


def repeat_lists(offsets: Tensor, values: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
    """Return the lists of these numbers as offsets and values; list i is values[offsets[i] : offsets[i + 1]]."""
    sizes = offsets.diff()[numbers]
    repeated = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
    starts = torch.repeat_interleave(offsets[numbers] - repeated[:-1], sizes)
    return repeated, values[starts + torch.arange(len(starts), device=starts.device)]
