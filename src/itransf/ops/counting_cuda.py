"""Counting the candidates closer than the answer on a GPU, without writing a score matrix."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from itransf.ops.distance import Norm

ANSWER_BLOCK = 128  # queries whose answers one program measures
KNOWN_BLOCK = 64  # known candidates one program measures at once
# Sizes of the tiles of queries and candidates; results do not depend on them. Few queries and many candidates are
# fastest: every thread reads all queries of its tile, which costs little as its neighbours read the same, and four
# adjacent candidates in one load. Few queries also waste less in small groups.
TILE_QUERIES, TILE_CANDIDATES = 16, 512  # powers of two; of candidates best 128 for each warp
TILE_WARPS, UNROLLED = 4, 4  # warps of a program, and unrolled dimensions of the innermost loop


class KnownLists(NamedTuple):
    """Each query's known candidates, values[starts[i] : ends[i]]; queries may share a list."""

    starts: Tensor
    ends: Tensor
    values: Tensor


class Counts(NamedTuple):
    """Candidates above each answer, tied with it, and in all: (2, q) int64 each, filtered first, raw second."""

    above: Tensor
    tied: Tensor
    rivals: Tensor


def count_grouped_cuda(
    queries: Tensor, tables: Tensor, offsets: Tensor, answers: Tensor, known: KnownLists, norm: Norm
) -> Counts:
    """Count the candidates closer than the answer, each query among its own group's candidates.

    Nothing waits for the device: all sizes follow from the shapes.

    Args:
        queries: (q, d) float32, sorted by group.
        tables: Candidates of each group, (u, n, d).
        offsets: Start of each group's queries, (u + 1,).
        answers: True candidate of each query, (q,).
        known: Candidates left out of the filtered counts.
        norm: Norm of the distance.
    """
    from itransf.ops import kernels  # noqa: PLC0415 - triton is optional

    (count, dim), candidates = queries.shape, tables.shape[1]
    above, tied, rivals = (queries.new_zeros((2, count), dtype=torch.int32) for _ in range(3))
    if not count:
        return Counts(above.long(), tied.long(), rivals.long())
    options: dict[str, Any] = {"DIM": dim, "NORM": norm, "UNROLL": UNROLLED, "enable_fp_fusion": False}
    queries = torch.nn.functional.pad(queries, (0, 0, 0, TILE_QUERIES))  # any block can be read whole
    groups = torch.searchsorted(offsets, torch.arange(count, device=queries.device), right=True) - 1
    asked = (queries, tables, groups, answers, distances := queries.new_empty(count))
    kernels.measure_answers[(-(-count // ANSWER_BLOCK),)](
        *asked, count, *tables.stride(), BLOCK=ANSWER_BLOCK, num_warps=4, **options
    )
    transposed = transpose_tables(tables, TILE_CANDIDATES)
    block_groups, block_starts = _cut_into_blocks(offsets, count, TILE_QUERIES)
    tiles = transposed.shape[2] // TILE_CANDIDATES
    kernels.count_tiles[(len(block_groups) * tiles,)](
        queries, transposed, block_groups, block_starts, offsets, answers, distances, above[1], tied[1],
        tiles, *transposed.stride()[:2],
        ROWS=TILE_QUERIES, COLUMNS=TILE_CANDIDATES, num_warps=TILE_WARPS, **options,
    )  # fmt: skip
    kernels.subtract_known[(count,)](
        *asked, *known, above, tied, rivals, count, candidates, *tables.stride(),
        BLOCK=KNOWN_BLOCK, num_warps=2, **options,
    )  # fmt: skip
    return Counts(above.long(), tied.long(), rivals.long())


def transpose_tables(tables: Tensor, multiple: int) -> Tensor:
    """Return tables (u, n, d) transposed and padded with NaN, (u, d, n'), n' the next whole multiple.

    A table that all groups share is transposed once.
    """
    if tables.stride(0) == 0 and len(tables) > 1:
        return transpose_tables(tables[:1], multiple).expand(len(tables), -1, -1)
    groups, candidates, dim = tables.shape
    transposed = tables.new_empty(groups, dim, -(-candidates // multiple) * multiple)
    transposed[:, :, candidates:] = torch.nan
    transposed[:, :, :candidates] = tables.transpose(1, 2)
    return transposed


def _cut_into_blocks(offsets: Tensor, count: int, size: int) -> tuple[Tensor, Tensor]:
    """Return the group and the first query of each block of at most `size` queries of one group.

    There are always count // size + u blocks; those not needed start at or after their group's end.
    """
    per_group = (offsets.diff() + (size - 1)) // size  # (u,)
    ends = per_group.cumsum(0)
    numbers = torch.arange(count // size + len(per_group), device=offsets.device)
    groups = torch.searchsorted(ends, numbers, right=True).clamp_max(len(per_group) - 1)
    return groups, offsets[groups] + (numbers - ends[groups] + per_group[groups]) * size
