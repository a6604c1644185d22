"""The attention heat map of a page: the data that its script draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from itransf.interpret.attention import Attention
from itransf.interpret.heatmap import NEGLIGIBLE, arrange
from itransf.interpret.html import render

MOST_CELLS = 60_000
"""Maximum number of weights on a page: of a large dense model only the most frequent relations are shown."""
MOST_CONCEPTS = 1000
SPARSE = ("sparse", "signed")
"""Kinds of attention of which every weight is shown."""


def make_heatmap_page(attention: Attention, names: Mapping[int, str] | None = None) -> str:
    """Return a page with the heat map alone.

    Args:
        attention: Attention of all relations, or of those chosen by `Attention.choose`.
        names: Names that were given to concepts.
    """
    data = collect_heatmap(attention, names or {}, {})
    return render("heatmap.html", title="Attention over concepts", data=data, scripts=("tables.js", "heatmap.js"))


def collect_heatmap(attention: Attention, names: Mapping[int, str], suggestions: Mapping[int, str]) -> dict[str, Any]:
    """Return relations by frequency, rows by similarity, and the weights of a row as column, weight, ...

    Args:
        attention: Attention of the relations.
        names: Names that were given to concepts.
        suggestions: Names to show for the others.
    """
    arrangement = arrange(attention, count_relations(attention), MOST_CONCEPTS, names)
    order = sorted({relation for relation, _ in arrangement.sides}, key=attention.find().index)
    places = {relation: place for place, relation in enumerate(order)}
    shown = arrangement.values != 0
    if attention.kind not in SPARSE:
        shown = np.abs(arrangement.values) >= NEGLIGIBLE * arrangement.limit
    rows = []
    for (relation, side), values, marks in zip(arrangement.sides, arrangement.values, shown, strict=True):
        weights = [(column, round(float(values[column]), 4)) for column in np.flatnonzero(marks).tolist()]
        rows.append([places[relation], attention.parts.index(side), [number for pair in weights for number in pair]])
    vocabulary = attention.relations
    return {
        "title": arrangement.title,
        "signed": arrangement.signed,
        "limit": round(arrangement.limit, 6),
        "parts": attention.parts,
        "antisymmetric": [each in arrangement.antisymmetric for each in arrangement.concepts],
        "concepts": [[each, names.get(each, ""), suggestions.get(each, "")] for each in arrangement.concepts],
        "relations": [[vocabulary.label(each), vocabulary.name(each), int(attention.counts[each])] for each in order],
        "rows": rows,
    }


def count_relations(attention: Attention, most_cells: int = MOST_CELLS) -> int:
    """Return how many of the most frequent relations have at most `most_cells` weights together."""
    largest = np.abs(attention.weights).max(initial=0.0)
    least = 0.0 if attention.kind in SPARSE else NEGLIGIBLE * largest
    cells = (np.abs(attention.weights) > least).sum(axis=(0, 2))[attention.find()]  # (r,) most frequent first
    return max(1, int((np.cumsum(cells) <= most_cells).sum()))
