"""Counting the candidates closer than the answer on a GPU, without ever writing a score matrix."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor

from itransf.errors import MissingExtraError
from itransf.ops.distance import Norm

ANSWER_BLOCK = 128  # queries whose own answers one program measures
KNOWN_BLOCK = 64  # known candidates one program measures at once


@dataclass(frozen=True)
class Tiling:
    """How the work is cut for the device; results do not depend on it.

    Few queries and many candidates suit it best: every thread reads all queries of its tile, which costs little as
    its neighbours read the same, and four candidates side by side in one load. Few queries also waste less where a
    group has few.

    Attributes:
        queries: Queries of a tile, a power of two.
        candidates: Candidates of a tile, a power of two, best 128 for each warp.
        warps: Warps of a program.
        unroll: Dimensions taken per turn of the innermost loop.
    """

    queries: int = 16
    candidates: int = 512
    warps: int = 4
    unroll: int = 4


DEFAULT_TILING = Tiling()


class KnownLists(NamedTuple):
    """Each query's known candidates, values[starts[i] : ends[i]]; queries may share a list."""

    starts: Tensor
    ends: Tensor
    values: Tensor


class Counts(NamedTuple):
    """What stands against each answer: three times (2, q) int64, filtered first, raw second."""

    above: Tensor
    tied: Tensor
    rivals: Tensor


def has_triton() -> bool:
    """Return whether the kernels can be compiled here."""
    return find_spec("triton") is not None


def count_closer_cuda(
    queries: Tensor, table: Tensor, answers: Tensor, offsets: Tensor, known: Tensor, norm: Norm
) -> tuple[Tensor, Tensor]:
    """Count, for each query, the candidates closer than its answer and those as close.

    Args:
        queries: (q, d)
        table: The candidates, (n, d).
        answers: The true candidate of each query, (q,).
        offsets: Where each query's known candidates begin in `known`, (q + 1,).
        known: Candidates known to be right, the answer among them or not; they are no rivals.
        norm: The distance.

    Returns:
        (above, tied), both (2, q), filtered first, raw second, as `count_rivals` gives them for minus the distances.
    """
    everyone = torch.tensor([0, len(queries)], device=queries.device)
    lists = KnownLists(offsets[:-1], offsets[1:], known)
    counts = count_grouped_cuda(queries, table[None], everyone, answers, lists, norm)
    return counts.above, counts.tied


def count_grouped_cuda(
    queries: Tensor,
    tables: Tensor,
    offsets: Tensor,
    answers: Tensor,
    known: KnownLists,
    norm: Norm,
    tiling: Tiling = DEFAULT_TILING,
) -> Counts:
    """Count the candidates closer than the answer, each query among its own group's candidates.

    Nothing waits for the device: all sizes follow from the shapes.

    Args:
        queries: (q, d) float32, sorted by group.
        tables: The candidates as each group sees them, (u, n, d).
        offsets: Where each group's queries begin, (u + 1,).
        answers: The true candidate of each query, (q,).
        known: The candidates that are no rivals in the filtered counts.
        norm: The distance.
        tiling: How to cut the work.
    """
    kernels = _load_kernels()
    (count, dim), candidates = queries.shape, tables.shape[1]
    above, tied, rivals = (queries.new_zeros((2, count), dtype=torch.int32) for _ in range(3))
    if not count:
        return Counts(above.long(), tied.long(), rivals.long())
    options = {"DIM": dim, "NORM": norm, "UNROLL": tiling.unroll, "enable_fp_fusion": False}
    queries = torch.nn.functional.pad(queries, (0, 0, 0, tiling.queries))  # any block can be read whole
    groups = torch.searchsorted(offsets, torch.arange(count, device=queries.device), right=True) - 1
    own = (queries, tables, groups, answers, queries.new_empty(count))
    programs = -(-count // ANSWER_BLOCK)
    kernels.measure_answers[(programs,)](*own, count, *tables.stride(), BLOCK=ANSWER_BLOCK, num_warps=4, **options)
    _count_raw(kernels, own, offsets, (above[1], tied[1]), tiling, options)
    kernels.leave_out_known[(count,)](
        *own, *known, above, tied, rivals, count, candidates, *tables.stride(),
        BLOCK=KNOWN_BLOCK, num_warps=2, **options,
    )  # fmt: skip
    return Counts(above.long(), tied.long(), rivals.long())


def _load_kernels() -> Any:
    """Return the kernels' module; triton comes with torch where that has CUDA, and with the tests elsewhere."""
    if not has_triton():
        raise MissingExtraError("counting with triton", "dev")
    from itransf.ops import counting_kernels  # noqa: PLC0415 - triton is optional

    return counting_kernels


def _count_raw(
    kernels: Any,
    own: tuple[Tensor, ...],
    offsets: Tensor,
    into: tuple[Tensor, Tensor],
    tiling: Tiling,
    options: dict[str, int],
) -> None:
    """Count among all candidates, tile by tile."""
    queries, tables, _, answers, distances = own
    turned = turn_tables(tables, tiling.candidates)
    block_groups, block_starts = _cut_into_blocks(offsets, len(distances), tiling.queries)
    tiles = turned.shape[2] // tiling.candidates
    kernels.count_tiles[(len(block_groups) * tiles,)](
        queries, turned, block_groups, block_starts, offsets, answers, distances, *into, tiles, *turned.stride()[:2],
        ROWS=tiling.queries, COLUMNS=tiling.candidates, num_warps=tiling.warps, **options,
    )  # fmt: skip


def turn_tables(tables: Tensor, multiple: int) -> Tensor:
    """Return tables (u, n, d) as (u, d, n'), each dimension's numbers side by side, n' the next whole multiple.

    What fills them up is not a number. A table that all groups share is turned once.
    """
    if tables.stride(0) == 0 and len(tables) > 1:
        return turn_tables(tables[:1], multiple).expand(len(tables), -1, -1)
    groups, candidates, dim = tables.shape
    turned = tables.new_empty(groups, dim, -(-candidates // multiple) * multiple)
    turned[:, :, candidates:] = torch.nan
    turned[:, :, :candidates] = tables.transpose(1, 2)
    return turned


def _cut_into_blocks(offsets: Tensor, count: int, size: int) -> tuple[Tensor, Tensor]:
    """Return the group and the first query of each block of at most `size` queries of one group.

    There are count // size + u of them whatever the groups' sizes; those not needed begin at their group's end or
    after it.
    """
    per_group = (offsets.diff() + (size - 1)) // size  # (u,)
    ends = per_group.cumsum(0)
    numbers = torch.arange(count // size + len(per_group), device=offsets.device)
    groups = torch.searchsorted(ends, numbers, right=True).clamp_max(len(per_group) - 1)
    return groups, offsets[groups] + (numbers - ends[groups] + per_group[groups]) * size
