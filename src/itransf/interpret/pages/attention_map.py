"""The attention heat map, to be explored in a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from itransf.interpret.attention import Attention
from itransf.interpret.heatmap import NEGLIGIBLE, arrange
from itransf.interpret.pages.markup import Markup, element, embed, join, make_page
from itransf.models import SIDES

MOST_CELLS = 60_000
"""The most weights a page holds: of a large dense model only the most frequent relations are shown."""
MOST_CONCEPTS = 1000
SCRIPTS = ("tables.js", "heatmap.js")
_ROW_CHOICES = ("40", "100", "300")


def make_heatmap_page(
    attention: Attention, names: Mapping[int, str] | None = None, suggestions: Sequence[str] | None = None
) -> str:
    """Return a page that holds the heat map alone.

    Args:
        attention: Of all relations, or of those `Attention.choose` picked.
        names: What people call some of the concepts.
        suggestions: What each concept could be called, shown where it has no name.
    """
    title = "Attention over concepts"
    head = element(
        "header",
        element("p", "itransf", class_="kicker"),
        element("h1", title),
        element("p", "Which concepts each side of each relation uses, and how strongly.", class_="lead"),
        class_="top",
    )
    body = element("main", show_heatmap(attention, names, suggestions))
    return make_page(title, join([head, body]), SCRIPTS)


def show_heatmap(
    attention: Attention, names: Mapping[int, str] | None = None, suggestions: Sequence[str] | None = None
) -> Markup:
    """Return the heat map with its controls and its data, for a page that runs `SCRIPTS`."""
    data = collect_heatmap(attention, names or {}, suggestions or [])
    most = len(data["relations"])
    counts = [element("option", f"{count} relations", value=count) for count in _ROW_CHOICES if int(count) < most]
    counts.append(element("option", f"all {most}", value="", selected=most <= int(_ROW_CHOICES[0])))
    orders = {"structure": "by likeness", "name": "by name", "frequency": "by frequency"}
    tools = element(
        "div",
        element(
            "input", type="search", placeholder="Find a relation …", aria_label="Find a relation", data_part="search"
        ),
        element(
            "select",
            *(element("option", text, value=value) for value, text in orders.items()),
            aria_label="Order of rows",
            data_part="order",
        ),
        element("select", *counts, aria_label="How many relations", data_part="count"),
        element("button", "CSV", type="button", data_part="take"),
        element("span", class_="soft num", data_part="state"),
        class_="tools",
    )
    parts = [element("div", class_=part, data_part=part) for part in ("corner", "heads", "names", "cells")]
    return element(
        "div",
        element("p", data["title"], ".", class_="soft small"),
        tools,
        element("div", *parts, class_="heat", data_part="frame"),
        _show_legend(bool(data["signed"]), float(data["limit"])),
        element("noscript", element("p", "The heat map is drawn by a script, which this browser does not run.")),
        embed("heatmap-data", data),
        data_heatmap=True,
        data_source="heatmap-data",
    )


def _show_legend(signed: bool, limit: float) -> Markup:
    """Say what the colours mean and what can be done."""
    colours = [("plus", "a weight" if not signed else "above zero"), *([("minus", "below zero")] if signed else [])]
    told = [element("span", element("i", style=f"background:var(--{name})"), text) for name, text in colours]
    return element(
        "p",
        *told,
        element("span", f"full colour: {limit:.2g}"),
        element("span", "H head, T tail"),
        element("span", "Tap a concept or a cell to sort by that concept, a relation to see who shares with it."),
        class_="legend",
    )


def collect_heatmap(attention: Attention, names: Mapping[int, str], suggestions: Sequence[str]) -> dict[str, Any]:
    """Return what the script draws: relations by frequency, rows by likeness, weights as column, weight, ..."""
    arrangement = arrange(attention, count_relations(attention), MOST_CONCEPTS, names)
    order = sorted({relation for relation, _ in arrangement.sides}, key=attention.find().index)
    places = {relation: place for place, relation in enumerate(order)}
    shown = (
        np.abs(arrangement.values) >= NEGLIGIBLE * arrangement.limit
        if attention.kind != "sparse"
        else arrangement.values != 0
    )
    rows = []
    for (relation, side), values, marks in zip(arrangement.sides, arrangement.values, shown, strict=True):
        flat = [
            number for column in np.flatnonzero(marks).tolist() for number in (column, round(float(values[column]), 4))
        ]
        rows.append([places[relation], SIDES.index(side), flat])
    vocabulary = attention.relations
    return {
        "title": arrangement.title,
        "signed": arrangement.signed,
        "limit": round(arrangement.limit, 6),
        "concepts": [
            [concept, names.get(concept, ""), suggestions[concept] if suggestions else ""]
            for concept in arrangement.concepts
        ],
        "relations": [
            [vocabulary.label(number), vocabulary.name(number), int(attention.counts[number])] for number in order
        ],
        "rows": rows,
    }


def count_relations(attention: Attention, most_cells: int = MOST_CELLS) -> int:
    """Return how many of the most frequent relations have so many weights together."""
    largest = np.abs(attention.weights).max(initial=0.0)
    least = 0.0 if attention.kind == "sparse" else NEGLIGIBLE * largest
    cells = (np.abs(attention.weights) > least).sum(axis=(0, 2))[attention.find()]  # (r,) most frequent first
    return max(1, int((np.cumsum(cells) <= most_cells).sum()))
