"""Distances to rows picked from several tables."""

from __future__ import annotations

import torch
from torch import Tensor

from itransf.ops.counting_cuda import has_triton
from itransf.ops.distance import Norm, distance

ROWS = 16  # rows one program takes


def gathered_distance(tables: Tensor, places: Tensor, wanted: Tensor, norm: Norm) -> Tensor:
    """Return how far a row of each table is from what is wanted, for many rows at once.

    Args:
        tables: (c, n, d)
        places: Which row of every table is meant, (b,).
        wanted: What it is compared with, (b, d).
        norm: The distance.

    Returns:
        Distances (b, c).
    """
    if tables.is_cuda and tables.dtype == torch.float32 and has_triton():
        return _measure_in_kernel(tables.contiguous(), places, wanted.contiguous(), norm)
    return torch.stack([distance(table[places] - wanted, norm) for table in tables], 1)


def _measure_in_kernel(tables: Tensor, places: Tensor, wanted: Tensor, norm: Norm) -> Tensor:
    """Measure without writing the picked rows."""
    from itransf.ops.gathering_kernels import measure_gathered, round_up  # noqa: PLC0415 - triton is not everywhere

    count, rows, dim = tables.shape
    distances = wanted.new_empty(len(places), count)
    if len(places):
        grid = (-(-len(places) // ROWS),)
        sizes = (len(places), count, rows, dim)
        measure_gathered[grid](tables, places, wanted, distances, *sizes, NORM=norm, ROWS=ROWS, DIM=round_up(dim))
    return distances
