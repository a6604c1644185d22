"""Rows that belong together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Grouping:
    """Rows brought together by key.

    Attributes:
        keys: The distinct keys, ascending, (u,).
        counts: How many rows each key has.
        order: The rows sorted by key, (n,), or None where they are sorted already.
    """

    keys: Tensor
    counts: list[int]
    order: Tensor | None


def group_rows(keys: Tensor) -> Grouping:
    """Group rows by key; rows that come sorted are not moved."""
    is_sorted = bool((keys[1:] >= keys[:-1]).all())
    order = None if is_sorted else torch.argsort(keys, stable=True)
    distinct, counts = torch.unique_consecutive(keys if order is None else keys[order], return_counts=True)
    return Grouping(distinct, counts.tolist(), order)


def sorted_grouping(grouping: Grouping) -> Grouping:
    """Return the grouping of the rows once they are sorted."""
    return Grouping(grouping.keys, grouping.counts, None)


def one_group(rows: Tensor) -> Grouping:
    """Return the grouping that puts all rows together."""
    return Grouping(torch.zeros(1, dtype=torch.int64, device=rows.device), [len(rows)], None)


def occurrence_numbers(keys: Tensor) -> Tensor:
    """Return, for each element, how many equal ones stand before it."""
    order = torch.argsort(keys, stable=True)
    _, counts = torch.unique_consecutive(keys[order], return_counts=True)
    starts = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    numbers = torch.empty_like(keys)
    numbers[order] = torch.arange(len(keys), device=keys.device) - starts
    return numbers
