"""Chunks of scores that fit the memory, and what is no answer in them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from itransf.data.known import Integers, is_among

DEFAULT_MEMORY = 256 * 2**20  # bytes for one chunk of scores
BYTES_PER_SCORE = 24  # a float32 score, and the temporary memory to compute and select it
EXCLUDED = -torch.inf  # score of an entity that may not be an answer


def split_rows(rows: Integers, width: int, memory: int) -> Iterator[Integers]:
    """Yield the rows in chunks whose scores against `width` candidates fit the memory."""
    chunk = max(1, memory // (BYTES_PER_SCORE * max(width, 1)))
    for start in range(0, len(rows), chunk):
        yield rows[start : start + chunk]


def exclude(scores: Tensor, rows: Integers, entities: Integers, allowed: Integers | None) -> None:
    """Exclude entities from the answers of their rows; the columns of `scores` are the allowed entities."""
    columns = entities
    if allowed is not None:
        present = is_among(entities, allowed)
        rows, columns = rows[present], np.searchsorted(allowed, entities[present])
    place = torch.from_numpy(np.stack([rows, columns])).to(scores.device)
    scores[place[0], place[1]] = EXCLUDED
