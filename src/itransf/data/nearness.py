"""Finding the names a misspelt word may have meant, fast enough for a million names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_LIKENESS = 0.6  # difflib's ratio from which a name counts as near
_SHORTLIST = 200  # names compared letter by letter, after the coarse choice


def find_near_misses(word: str, names: Sequence[str], count: int = 3) -> list[tuple[str, float]]:
    """Return up to `count` names that look like `word`, each with its likeness (at most 1)."""
    wanted = word.strip().lower()
    if not wanted or not names:
        return []
    scored = [(name, _liken(wanted, name.lower())) for name in _shortlist(wanted, names)]
    near = [(name, ratio) for name, ratio in scored if ratio >= _LIKENESS]
    return sorted(near, key=lambda pair: (-pair[1], pair[0]))[:count]


def _liken(wanted: str, name: str) -> float:
    """Return how alike two words are, from 0 to 1."""
    return difflib.SequenceMatcher(None, wanted, name).ratio()


def _shortlist(wanted: str, names: Sequence[str]) -> list[str]:
    """Return the names of a similar length that share most letter pairs with `wanted`."""
    if len(names) <= _SHORTLIST:
        return list(names)
    column = pa.array(names, pa.large_string())
    # A ratio of 0.6 is out of reach when one word is longer than 7/3 of the other.
    length = pc.utf8_length(column).to_numpy()
    position = np.flatnonzero((length * 7 >= len(wanted) * 3) & (length * 3 <= len(wanted) * 7))
    lowered = pc.utf8_lower(column.take(pa.array(position)))
    shared = _count_shared_pairs(wanted, lowered)
    # Of names that share as many pairs, the one nearest in length comes first.
    closeness = -np.abs(length[position] - len(wanted))
    best = np.lexsort((closeness, shared))[::-1][:_SHORTLIST]
    return [names[place] for place in position[best]]


def _count_shared_pairs(wanted: str, lowered: pa.Array) -> npt.NDArray[np.int64]:
    """Return for each name how many of the letter pairs of `wanted` it holds."""
    shared = np.zeros(len(lowered), dtype=np.int64)
    pairs = {wanted[start : start + 2] for start in range(max(len(wanted) - 1, 1))}
    for pair in sorted(pairs)[:32]:  # thirty-two pairs tell long words apart well enough
        shared += pc.match_substring(lowered, pair).to_numpy(zero_copy_only=False)
    return shared
