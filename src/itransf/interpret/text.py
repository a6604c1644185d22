"""The attention heat map, as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.cells import cell_len

from itransf.interpret.arranging import NEGLIGIBLE, Arrangement, arrange
from itransf.interpret.attention import Attention
from itransf.interpret.heatmap import shorten

SHADES = "·░▒▓█"
MOST_RELATIONS, MOST_CONCEPTS = 40, 60  # more do not fit a terminal
_LONGEST = 28  # letters of a row's label
_WIDE = 26  # columns up to which each takes two places


def format_heatmap(attention: Attention, names: Mapping[int, str] | None = None) -> str:
    """Return a heat map in block characters, with rows and columns as in the picture.

    A weight is shown as one of five shades; where weights may be negative, a minus stands before those. Names that
    were given to concepts are listed below.
    """
    arrangement = arrange(attention, MOST_RELATIONS, MOST_CONCEPTS, names)
    step = 2 if len(arrangement.concepts) <= _WIDE or arrangement.signed else 1
    labels = [shorten(label, _LONGEST) for label in arrangement.labels]
    margin = max(cell_len(label) for label in ["concept", *labels])
    lines = [arrangement.title, "", *_write_numbers(arrangement, margin, step)]
    for label, cells in zip(labels, _shade(arrangement, step), strict=True):
        lines.append(f"{' ' * (margin - cell_len(label))}{label} {cells}")
    ends = [f"{shade} to {arrangement.limit * (place + 1) / 4:.2g}" for place, shade in enumerate(SHADES[1:])]
    scale = "  ".join([f"{SHADES[0]} none", *ends, "(H) head", "(T) tail"])
    named = [
        f"{concept} {arrangement.names[concept]}" for concept in arrangement.concepts if concept in arrangement.names
    ]
    return "\n".join([*lines, "", scale, *([f"Concepts: {', '.join(named)}"] if named else [])]) + "\n"


def _write_numbers(arrangement: Arrangement, margin: int, step: int) -> list[str]:
    """Return the concepts' numbers, written downwards."""
    width = max((len(str(concept)) for concept in arrangement.concepts), default=0)
    padded = [f"{concept:>{width}}" for concept in arrangement.concepts]
    places = ["".join(f"{number[digit]:>{step}}" for number in padded) for digit in range(width)]
    words = ["concept", *[""] * (width - 1)]
    return [f"{word:>{margin}} {line}".rstrip() for word, line in zip(words, places, strict=False)]


def _shade(arrangement: Arrangement, step: int) -> list[str]:
    """Return each row's cells."""
    shares = np.abs(arrangement.values) / arrangement.limit
    quarters = np.clip(np.ceil(shares * 4), 1, 4).astype(np.int64)
    shades = np.where(shares < NEGLIGIBLE, 0, quarters)
    signs = np.where((arrangement.values < 0) & (shades > 0), "-", " " * (step - 1))
    cells = np.char.add(signs, np.array(list(SHADES))[shades])
    return ["".join(row) for row in cells.tolist()]
