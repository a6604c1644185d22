"""Figure 5: how few concept matrices are enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from itransf.experiments.reproduction import comparing, paper
from itransf.experiments.reproduction.drawing import BLUE, GREY, ORANGE, start_figure
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import Picture, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.main import DATASETS, make_row
from itransf.experiments.reproduction.summaries import Summary, summarise
from itransf.experiments.reproduction.verdicts import NAMES, Metric, write_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MATRICES = {"wn18": (6, 12, 18, 24, 30, 36), "fb15k": (15, 30, 75, 300, 1200, 2200, 2690)}
"""Numbers of concepts, up to the 2 |R| matrices of STransE; the paper names 18 and 30, and starts from 2200."""
QUICK_MATRICES = (4, 8, 12)
BASELINES = {"stranse": ("STransE", ORANGE), "transe": ("TransE", GREY)}
COLUMNS = ("Model", "Matrices", *comparing.COMPARED, "Hits@10 against STransE (95 %)")
METHOD = (
    f"{comparing.METHOD} ITransF with more or fewer concepts, all else as in the main table, beside the two models "
    "that share nothing (STransE, two matrices per relation) and project nothing (TransE)."
)


@dataclass(frozen=True)
class Curve:
    """What was measured on a graph: by the number of concepts, and of each baseline."""

    points: dict[int, Summary]
    baselines: dict[str, Summary]


def list_matrices(scope: Scope, dataset: str) -> Sequence[int]:
    """Return the numbers of concepts that are tried on a graph."""
    return QUICK_MATRICES if scope.quick else MATRICES[dataset]


def make_point(scope: Scope, dataset: str, matrices: int) -> Job:
    """Return the training with so many concepts; the main table's own where it has as many."""
    row = make_row(scope, dataset, "itransf")
    if row.resolve().model.concepts == matrices:
        return row
    return scope.make_job(row.preset, f"model.concepts={matrices}")


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the figure needs."""
    points = [make_point(scope, dataset, m) for dataset in DATASETS for m in list_matrices(scope, dataset)]
    return [make_row(scope, dataset, row) for row in BASELINES for dataset in DATASETS] + points


def render(results: Results, scope: Scope) -> Section:
    """Return a table and a figure for each graph."""
    parts: list[str | Table | Picture] = [METHOD]
    for dataset in DATASETS:
        curve = read_curve(results, scope, dataset)
        parts.append(make_table(COLUMNS, tabulate(curve, scope, dataset), title=scope.title(dataset)))
        if curve.points:
            caption = f"{scope.title(dataset)}: ITransF against the number of its matrices, which is not to scale."
            parts.append(Picture(f"compression-{scope.data(dataset)}", caption, partial(draw, curve)))
    return Section("Fewer matrices (Figure 5)", tuple(parts))


def read_curve(results: Results, scope: Scope, dataset: str) -> Curve:
    """Return what is stored for a graph."""
    jobs = {m: make_point(scope, dataset, m) for m in list_matrices(scope, dataset)}
    points = {m: summarise(results.find_seeds(job)) for m, job in jobs.items()}
    rows = {row: summarise(results.find_seeds(make_row(scope, dataset, row))) for row in BASELINES}
    return Curve(
        {m: summary for m, summary in points.items() if summary is not None},
        {row: summary for row, summary in rows.items() if summary is not None},
    )


def tabulate(curve: Curve, scope: Scope, dataset: str) -> list[tuple[str, ...]]:
    """Return a row for each baseline and each number of concepts."""
    rows = []
    for row, (title, _) in BASELINES.items():
        summary = curve.baselines.get(row)
        published = None if scope.quick else paper.MAIN[row][dataset]
        rows.append((title, write_matrices(summary), *comparing.compare_with_paper(summary, published), "–"))
    baseline = curve.baselines.get("stranse")
    for matrices in list_matrices(scope, dataset):
        summary = curve.points.get(matrices)
        gain = write_difference(summary.compare(baseline, "hits@10"), "hits@10") if summary and baseline else "–"
        rows.append(("ITransF", f"{matrices:,}", *comparing.compare_with_paper(summary, None), gain))
    return rows


def write_matrices(summary: Summary | None) -> str:
    """Return how many matrices a model has."""
    return "–" if summary is None else f"{summary.records[0]['matrices']:,}"


def draw(curve: Curve) -> Figure:
    """Return a panel for each metric."""
    figure, panels = start_figure(len(NAMES), width=4.4)
    for panel, (metric, name) in zip(panels, NAMES.items(), strict=True):
        draw_metric(panel, curve, metric)
        panel.set_title(f"{name}{' (%)' if metric == 'hits@10' else ', lower is better'}", fontsize=10, loc="left")
    panels[-1].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_metric(panel: Axes, curve: Curve, metric: Metric) -> None:
    """Draw the curve with its intervals, and the baselines as level lines."""
    scale = 100.0 if metric == "hits@10" else 1.0
    places = list(range(len(curve.points)))
    heights = [scale * summary.median(metric) for summary in curve.points.values()]
    spans = [summary.interval(metric) for summary in curve.points.values()]
    # A median may lie outside its interval where replicates are few; no bar is drawn on that side.
    low = [max(height - scale * span.low, 0.0) for height, span in zip(heights, spans, strict=True)]
    high = [max(scale * span.high - height, 0.0) for height, span in zip(heights, spans, strict=True)]
    panel.errorbar(places, heights, [low, high], color=BLUE, marker="o", markersize=4, capsize=2, label="ITransF")
    for row, summary in curve.baselines.items():
        title, colour = BASELINES[row]
        panel.axhline(scale * summary.median(metric), color=colour, linestyle="--", linewidth=1.2, label=title)
    panel.set_xticks(places, [f"{matrices:,}" for matrices in curve.points], fontsize=8)
    panel.set_xlabel("concept matrices", fontsize=9)


COMPRESSION = Stage("compression", "Figure 5", list_jobs, render)
