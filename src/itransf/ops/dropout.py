"""Dropout masks as a function of numbers: a kernel draws the same mask twice instead of storing it."""

from __future__ import annotations

import torch
from torch import Tensor

LAST = (1 << 32) - 1
COMPARED = 24  # bits of a hash that decide, so that kernels need no whole number beyond 31 bits
MIXING = ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1))  # shifts and factors of a hash of 32 bits


def mix(numbers: Tensor) -> Tensor:
    """Return whole numbers below 2^32, each of whose bits depends on all bits of the given one."""
    for shift, factor in MIXING:
        numbers = ((numbers ^ (numbers >> shift)) * factor) & LAST
    return numbers


def mix_seeds(seeds: Tensor) -> Tensor:
    """Return what the numbers of each training step are combined with, from its seed."""
    return mix(seeds.long() & LAST)


def kept_shares(seed: int, first: int, rows: int, columns: int, share: float, device: torch.device) -> Tensor:
    """Return a mask (rows, columns) with zero where a number is dropped, else with a factor that keeps the mean.

    Args:
        seed: Seed of the training step.
        first: Number of the first row; the mask of a row does not depend on the rows beside it.
        rows: Number of rows.
        columns: Number of columns.
        share: Dropout probability.
        device: Device of the mask.
    """
    numbers = torch.arange(first * columns, (first + rows) * columns, device=device)
    hashed = mix((numbers & LAST) ^ mix_seeds(torch.tensor(seed, device=device)))
    return (hashed >> (32 - COMPARED) >= find_threshold(share)).float().view(rows, columns) / (1 - share)


def find_threshold(share: float) -> int:
    """Return the first bits of a hash, as a whole number, below which a number is dropped."""
    return round(share * (1 << COMPARED))
