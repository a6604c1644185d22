# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# ruff: noqa: N803 - what is fixed when a kernel is compiled is written in capitals
# (arguments of kernels are pointers and numbers of the device, for which there are no types)
"""Triton kernels that count closer candidates; imported only where they run, as triton is not everywhere.

Every distance is the same sum in the same order, first dimension to last, rounded in the same places: a candidate's
distance has the same bits whether it is measured as the answer, as one of a tile or as one of a list. For l2 the
product and the sum are fused explicitly, and kernels are launched with fusing otherwise off, so that no compiler
decides it differently in two of them.
"""

from __future__ import annotations

import triton
import triton.language as tl

# Sizes and starts that change from call to call: a kernel must not be compiled anew for how they happen to divide.
CHANGING = (
    "groups", "block_groups", "block_starts", "group_offsets", "answers", "distances", "starts", "ends", "known",
    "above", "tied", "rivals", "count", "tiles",
)  # fmt: skip


@triton.jit
def measure(total, query, candidate, step, DIM: tl.constexpr, NORM: tl.constexpr, UNROLL: tl.constexpr):
    """Add up the distance from `query` on to `candidate` on, whose dimensions lie `step` numbers apart.

    The pointers may be single ones, rows, columns or tiles: whatever they broadcast to is the shape of `total`.
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
    queries,
    tables,
    groups,
    answers,
    distances,
    count,
    group_step,
    row_step,
    step,
    DIM: tl.constexpr,
    NORM: tl.constexpr,
    UNROLL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write the distance of each query's own answer; a program takes BLOCK queries."""
    rows = tl.cast(tl.program_id(0), tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = rows < count
    rows = tl.minimum(rows, count - 1)
    candidate = tables + tl.load(groups + rows) * group_step + tl.load(answers + rows) * row_step
    nothing = tl.zeros((BLOCK,), dtype=tl.float32)
    distance = measure(nothing, queries + rows * DIM, candidate, step, DIM, NORM, UNROLL)
    tl.store(distances + rows, distance, mask=inside)


@triton.jit(do_not_specialize=CHANGING)
def count_tiles(
    queries,
    turned,
    block_groups,
    block_starts,
    group_offsets,
    answers,
    distances,
    above,
    tied,
    tiles,
    group_step,
    step,
    DIM: tl.constexpr,
    NORM: tl.constexpr,
    UNROLL: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Count, for ROWS queries of a group, which of COLUMNS of its candidates are closer than the answer, or tie.

    `turned` holds the candidates dimension by dimension, (groups, d, candidates), so that neighbours are read
    together; whole tiles of them, filled up with what is not a number and so is neither closer nor as close. There
    are ROWS queries more than needed, so that any block may be read whole; what is not its group's is not written.
    """
    program = tl.program_id(0)
    block, tile = program // tiles, program % tiles
    group = tl.load(block_groups + block)
    start = tl.load(block_starts + block)
    end = tl.load(group_offsets + group + 1)
    if start >= end:  # blocks are numbered up to a bound that need not be reached
        return
    rows = start + tl.arange(0, ROWS)
    inside = rows < end
    columns = tile * COLUMNS + tl.arange(0, COLUMNS)
    query = queries + start * DIM + tl.arange(0, ROWS)[:, None] * DIM
    candidate = turned + group * group_step + columns[None, :]
    nothing = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    distance = measure(nothing, query, candidate, step, DIM, NORM, UNROLL)
    true = tl.load(distances + rows, mask=inside, other=0.0)[:, None]
    answer = tl.load(answers + rows, mask=inside, other=0).to(tl.int32)[:, None]
    rival = columns[None, :] != answer
    tl.atomic_add(above + rows, tl.sum(((distance < true) & rival).to(tl.int32), axis=1), mask=inside)
    tl.atomic_add(tied + rows, tl.sum(((distance == true) & rival).to(tl.int32), axis=1), mask=inside)


@triton.jit(do_not_specialize=CHANGING)
def leave_out_known(
    queries,
    tables,
    groups,
    answers,
    distances,
    starts,
    ends,
    known,
    above,
    tied,
    rivals,
    count,
    candidates,
    group_step,
    row_step,
    step,
    DIM: tl.constexpr,
    NORM: tl.constexpr,
    UNROLL: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Write one query's filtered counts beside the raw ones; a program takes one query.

    `above`, `tied` and `rivals` are (2, count), filtered first, and hold raw counts in their second row.
    """
    row = tl.cast(tl.program_id(0), tl.int64)
    true = tl.load(distances + row)
    broken = true != true  # noqa: PLR0124 - not a number: the answer comes last
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
    raw = tl.where(broken, candidates - 1, tl.load(above + count + row))
    tl.store(above + count + row, raw)
    tl.store(above + row, raw - tl.where(broken, left_out, tl.sum(closer, axis=0)))
    tl.store(tied + row, tl.load(tied + count + row) - tl.sum(same, axis=0))
    tl.store(rivals + row, candidates - 1 - left_out)
    tl.store(rivals + count + row, candidates - 1)
