"""Dropout masks as a function of numbers: a kernel draws the same mask twice instead of storing it."""

from __future__ import annotations

import torch
from torch import Tensor

MASK_32 = (1 << 32) - 1
COMPARED_BITS = 24  # of a hash, which decide, so that kernels need no whole number beyond 31 bits
MIXING = ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1))  # shifts and factors of a hash of 32 bits


def mix(numbers: Tensor) -> Tensor:
    """Return a hash of whole numbers: 32 bits, each of which depends on all of the given 32 (int32, both)."""
    for shift, factor in MIXING:
        high = (numbers >> shift).bitwise_and_((1 << (32 - shift)) - 1)  # as of numbers without a sign
        numbers = high.bitwise_xor_(numbers).mul_(factor - (factor >> 31 << 32))
    return numbers


def mix_seeds(seeds: Tensor) -> Tensor:
    """Return what the numbers of each training step are combined with, from its seed: whole numbers below 2^32."""
    return mix(seeds.int()).long() & MASK_32


def dropout_mask(seed: int, first: int, rows: int, columns: int, share: float, device: torch.device) -> Tensor:
    """Return a mask (rows, columns) with zero where a number is dropped, else with a factor that keeps the mean.

    Masks repeat after 2^32 numbers.

    Args:
        seed: Seed of the training step.
        first: Number of the first row; the mask of a row does not depend on the rows beside it.
        rows: Number of rows.
        columns: Number of columns.
        share: Dropout probability.
        device: Device of the mask.
    """
    own = mix(torch.tensor([seed & MASK_32], device=device).int())
    numbers = torch.arange(first * columns, (first + rows) * columns, device=device).int()
    bits = (mix(numbers.bitwise_xor_(own)) >> (32 - COMPARED_BITS)).bitwise_and_((1 << COMPARED_BITS) - 1)
    return (bits >= find_threshold(share)).float().view(rows, columns) / (1 - share)


def find_threshold(share: float) -> int:
    """Return the first bits of a hash, as a whole number, below which a number is dropped."""
    return round(share * (1 << COMPARED_BITS))
