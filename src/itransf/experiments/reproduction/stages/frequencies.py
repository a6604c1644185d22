"""Figure 1: how often each relation occurs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from itransf.experiments.reproduction.drawing import BLUE, ORANGE, start_figure
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING, Picture, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.datasets import list_jobs
from itransf.experiments.reproduction.stages.main import DATASETS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("Graph", "Relations", "Most triples", "Median", "Fewest", "Triples of the most frequent tenth, %")
CAPTION = "Triples of each relation in train, most frequent first: their number (left axis) and its logarithm (right)."
Counts = Sequence[int]


def render(results: Results, scope: Scope) -> Section:
    """Return the figure, and what it says in numbers."""
    found: dict[str, Counts] = {}
    for dataset in DATASETS:
        record = results.find(scope.make_measure(dataset, "describe"))
        if record is not None:
            found[scope.title(dataset)] = record["frequencies"]
    rows = [summarise(scope.title(dataset), found.get(scope.title(dataset))) for dataset in DATASETS]
    parts: list[str | Table | Picture] = [make_table(COLUMNS, rows)]
    if found:
        parts.insert(0, Picture("frequencies", CAPTION, partial(draw, found)))
    return Section("How often relations occur (Figure 1)", tuple(parts))


def summarise(title: str, counts: Counts | None) -> tuple[str, ...]:
    """Return a graph's row."""
    if counts is None:
        return (title, MISSING, *["–"] * (len(COLUMNS) - 2))
    tenth = sum(counts[: max(len(counts) // 10, 1)]) / max(sum(counts), 1)
    figures = (f"{counts[0]:,}", f"{np.median(counts):,.0f}", f"{counts[-1]:,}")
    return (title, f"{len(counts):,}", *figures, f"{100 * tenth:.0f}")


def draw(graphs: dict[str, Counts]) -> Figure:
    """Return a panel for each graph."""
    figure, panels = start_figure(len(graphs))
    for panel, (title, counts) in zip(panels, graphs.items(), strict=True):
        draw_graph(panel, title, counts)
    return figure


def draw_graph(panel: Axes, title: str, counts: Counts) -> None:
    """Draw frequencies and their logarithms over the relations, most frequent first."""
    places = np.arange(1, len(counts) + 1)
    panel.fill_between(places, counts, color=BLUE, alpha=0.25, linewidth=0, step="mid")
    panel.step(places, counts, where="mid", color=BLUE, linewidth=1.2)
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_xlabel("relations, most frequent first", fontsize=9)
    panel.set_ylabel("triples in train", fontsize=9, color=BLUE)
    panel.set_ylim(bottom=0)
    panel.set_xlim(places[0] - 0.5, places[-1] + 0.5)
    logs = panel.twinx()
    logs.plot(places, np.log(np.maximum(counts, 1)), color=ORANGE, linewidth=1.4)
    logs.set_ylabel("logarithm", fontsize=9, color=ORANGE)
    logs.set_ylim(bottom=0)
    logs.tick_params(labelsize=8, color="#999999")
    logs.spines["top"].set_visible(False)


FREQUENCIES = Stage("frequencies", "Figure 1", list_jobs, render)
