# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# ruff: noqa: N803, SIM108 - compile-time arguments are in capitals, and branched on
# (arguments of kernels are pointers and numbers of the device, for which there are no types)
"""Triton kernels that count closer candidates and measure gathered distances; imported only where they run.

When candidates are counted, every distance is the same sum in the same order, first dimension to last, rounded in the
same places: a candidate's distance has the same bits whether it is measured as the answer, in a tile or in a list. For
l2 the product and the sum are fused explicitly, and these kernels are launched with fusing otherwise off, so that the
compiler cannot treat two of them differently.
"""

from __future__ import annotations

import triton
import triton.language as tl

# Sizes and pointers that change from call to call: kernels are not specialized to their divisibility.
CHANGING = (
    "groups", "block_groups", "block_starts", "group_offsets", "answers", "distances", "starts", "ends", "known",
    "above", "tied", "rivals", "count", "tiles",
)  # fmt: skip


@triton.jit
def measure(total, query, candidate, step, DIM: tl.constexpr, NORM: tl.constexpr, UNROLL: tl.constexpr):
    """Add the distance of `query` from `candidate`, whose dimensions are `step` numbers apart, to `total`.

    The pointers may be scalars, rows, columns or tiles that broadcast to the shape of `total`.
    """
    for place in tl.range(0, DIM, loop_unroll_factor=UNROLL):
        difference = tl.load(query + place) - tl.load(candidate + place * tl.cast(step, tl.int64))
        if NORM == 1:
            total += tl.abs(difference)
        else:
            total = tl.fma(difference, difference, total)
    return total


@triton.jit(do_not_specialize=CHANGING)
def measure_answers(
    queries, tables, groups, answers, distances, count, group_step, row_step, step,
    DIM: tl.constexpr, NORM: tl.constexpr, UNROLL: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Write the distance of each query's answer; a program takes BLOCK queries."""
    rows = tl.cast(tl.program_id(0), tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = rows < count
    rows = tl.minimum(rows, count - 1)
    candidate = tables + tl.load(groups + rows) * group_step + tl.load(answers + rows) * row_step
    nothing = tl.zeros((BLOCK,), dtype=tl.float32)
    distance = measure(nothing, queries + rows * DIM, candidate, step, DIM, NORM, UNROLL)
    tl.store(distances + rows, distance, mask=inside)


@triton.jit(do_not_specialize=CHANGING)
def count_tiles(
    queries, transposed, block_groups, block_starts, group_offsets, answers, distances, above, tied,
    tiles, group_step, step,
    DIM: tl.constexpr, NORM: tl.constexpr, UNROLL: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Count, for ROWS queries of a group, those of COLUMNS of its candidates that are closer than the answer, or tie.

    `transposed` holds the candidates by dimension, (groups, d, candidates), so that neighbours are read together. It is
    padded to whole tiles with NaN, which is neither closer nor as close. `queries` is padded with ROWS rows, so that
    any block can be read whole; counts of other groups' queries are not written.
    """
    program = tl.program_id(0)
    block, tile = program // tiles, program % tiles
    group = tl.load(block_groups + block)
    start = tl.load(block_starts + block)
    end = tl.load(group_offsets + group + 1)
    if start >= end:  # there may be more blocks than needed
        return
    rows = start + tl.arange(0, ROWS)
    inside = rows < end
    columns = tile * COLUMNS + tl.arange(0, COLUMNS)
    query = queries + start * DIM + tl.arange(0, ROWS)[:, None] * DIM
    candidate = transposed + group * group_step + columns[None, :]
    nothing = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    distance = measure(nothing, query, candidate, step, DIM, NORM, UNROLL)
    true = tl.load(distances + rows, mask=inside, other=0.0)[:, None]
    answer = tl.load(answers + rows, mask=inside, other=0).to(tl.int32)[:, None]
    rival = columns[None, :] != answer
    tl.atomic_add(above + rows, tl.sum(((distance < true) & rival).to(tl.int32), axis=1), mask=inside)
    tl.atomic_add(tied + rows, tl.sum(((distance == true) & rival).to(tl.int32), axis=1), mask=inside)


@triton.jit(do_not_specialize=CHANGING)
def subtract_known(
    queries, tables, groups, answers, distances, starts, ends, known, above, tied, rivals, count, candidates,
    group_step, row_step, step,
    DIM: tl.constexpr, NORM: tl.constexpr, UNROLL: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Write the filtered counts of one query next to the raw ones; a program takes one query.

    `above`, `tied` and `rivals` are (2, count), filtered first; `above` and `tied` hold raw counts in their second row.
    """
    row = tl.cast(tl.program_id(0), tl.int64)
    true = tl.load(distances + row)
    is_nan = true != true  # noqa: PLR0124 - the answer of a diverged model comes last
    answer = tl.load(answers + row)
    table = tables + tl.load(groups + row) * group_step
    query = queries + row * DIM
    closer = tl.zeros((BLOCK,), dtype=tl.int32)
    same = tl.zeros((BLOCK,), dtype=tl.int32)
    others = tl.zeros((BLOCK,), dtype=tl.int32)
    end = tl.load(ends + row)
    for first in range(tl.load(starts + row), end, BLOCK):
        places = first + tl.arange(0, BLOCK)
        listed = places < end
        names = tl.load(known + places, mask=listed, other=0)
        listed = listed & (names != answer)
        nothing = tl.zeros((BLOCK,), dtype=tl.float32)
        distance = measure(nothing, query, table + names * row_step, step, DIM, NORM, UNROLL)
        others += listed.to(tl.int32)
        closer += (listed & (distance < true)).to(tl.int32)
        same += (listed & (distance == true)).to(tl.int32)
    left_out = tl.sum(others, axis=0)
    raw = tl.where(is_nan, candidates - 1, tl.load(above + count + row))
    tl.store(above + count + row, raw)
    tl.store(above + row, raw - tl.where(is_nan, left_out, tl.sum(closer, axis=0)))
    tl.store(tied + row, tl.load(tied + count + row) - tl.sum(same, axis=0))
    tl.store(rivals + row, candidates - 1 - left_out)
    tl.store(rivals + count + row, candidates - 1)


@triton.jit(do_not_specialize=["count", "tables_count"])
def measure_gathered(
    tables, rows, targets, distances, count, tables_count, height, dim,
    NORM: tl.constexpr, ROWS: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Write, for ROWS targets, the distance of their row in every table."""
    numbers = tl.cast(tl.program_id(0), tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = numbers < count
    columns = tl.arange(0, DIM)
    mask = inside[:, None] & (columns < dim)[None, :]
    target = tl.load(targets + numbers[:, None] * dim + columns[None, :], mask=mask, other=0.0)
    row = tl.load(rows + numbers, mask=inside, other=0)
    first = tables + row[:, None] * dim + columns[None, :]
    for table in range(tables_count):
        difference = tl.load(first + tl.cast(table, tl.int64) * height * dim, mask=mask, other=0.0) - target
        if NORM == 1:
            length = tl.sum(tl.abs(difference), 1)
        else:
            length = tl.sqrt(tl.sum(difference * difference, 1))
        tl.store(distances + numbers * tables_count + table, length, mask=inside)
