# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
# ruff: noqa: N803, SIM108 - what is fixed when a kernel is compiled is in capitals, and branched on
"""Triton kernel of gathered distances; imported only where it runs."""

from __future__ import annotations

import triton
import triton.language as tl


def round_up(dim: int) -> int:
    """Return the width the compiler lays out for `dim` columns."""
    return int(triton.next_power_of_2(dim))


@triton.jit(do_not_specialize=["count", "tables_count"])
def measure_gathered(
    tables, places, wanted, distances, count, tables_count, rows, dim,
    NORM: tl.constexpr, ROWS: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Write, for ROWS of the wanted vectors, the distance to their row in every table."""
    numbers = tl.cast(tl.program_id(0), tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = numbers < count
    columns = tl.arange(0, DIM)
    mask = inside[:, None] & (columns < dim)[None, :]
    want = tl.load(wanted + numbers[:, None] * dim + columns[None, :], mask=mask, other=0.0)
    place = tl.load(places + numbers, mask=inside, other=0)
    picked = tables + place[:, None] * dim + columns[None, :]
    for table in range(tables_count):
        difference = tl.load(picked + tl.cast(table, tl.int64) * rows * dim, mask=mask, other=0.0) - want
        if NORM == 1:
            length = tl.sum(tl.abs(difference), 1)
        else:
            length = tl.sqrt(tl.sum(difference * difference, 1))
        tl.store(distances + numbers * tables_count + table, length, mask=inside)
