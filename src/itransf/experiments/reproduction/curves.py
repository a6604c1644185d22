"""A row's mean rank and Hits@10 as something is varied, with intervals, and level lines to compare with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from itransf.experiments.reproduction.drawing import BLUE, start_figure
from itransf.experiments.reproduction.summaries import Summary
from itransf.experiments.reproduction.verdicts import NAMES, Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Curve:
    """What was measured on a graph.

    Attributes:
        points: ITransF by what is varied, in the words that stand below the axis.
        varied: What that is.
        levels: What it is compared with, by title, each with its colour.
    """

    points: Mapping[str, Summary]
    varied: str
    levels: Mapping[str, tuple[Summary, str]] = field(default_factory=dict)


def draw_curve(curve: Curve) -> Figure:
    """Return a panel for each metric."""
    figure, panels = start_figure(len(NAMES), width=4.4)
    for panel, (metric, name) in zip(panels, NAMES.items(), strict=True):
        draw_metric(panel, curve, metric)
        panel.set_title(f"{name}{' (%)' if metric == 'hits@10' else ', lower is better'}", fontsize=10, loc="left")
    if curve.levels:
        panels[-1].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_metric(panel: Axes, curve: Curve, metric: Metric) -> None:
    """Draw the curve with its intervals, and the level lines."""
    scale = 100.0 if metric == "hits@10" else 1.0
    places = list(range(len(curve.points)))
    heights = [scale * summary.median(metric) for summary in curve.points.values()]
    spans = [summary.interval(metric) for summary in curve.points.values()]
    # A median may lie outside its interval where replicates are few; no bar is drawn on that side.
    low = [max(height - scale * span.low, 0.0) for height, span in zip(heights, spans, strict=True)]
    high = [max(scale * span.high - height, 0.0) for height, span in zip(heights, spans, strict=True)]
    panel.errorbar(places, heights, [low, high], color=BLUE, marker="o", markersize=4, capsize=2, label="ITransF")
    for title, (summary, colour) in curve.levels.items():
        panel.axhline(scale * summary.median(metric), color=colour, linestyle="--", linewidth=1.2, label=title)
    panel.set_xticks(places, list(curve.points), fontsize=8)
    panel.set_xlabel(curve.varied, fontsize=9)
