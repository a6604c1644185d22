"""Figure 5: how few concept matrices are enough."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from itransf.experiments.reproduction import comparing, paper
from itransf.experiments.reproduction.curves import Curve, draw_curve
from itransf.experiments.reproduction.drawing import GREY, ORANGE
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import Picture, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.main import DATASETS, make_row
from itransf.experiments.reproduction.summaries import Summary, summarise
from itransf.experiments.reproduction.verdicts import write_difference

MATRICES = {"wn18": (6, 12, 18, 24, 30, 36), "fb15k": (15, 30, 75, 300, 2200)}
"""Numbers of concepts; the paper names 18 and 30, and on FB15k starts from 2200."""
QUICK_MATRICES = (4, 8, 12)
BASELINES = {"stranse": ("STransE", ORANGE), "transe": ("TransE", GREY)}
COLUMNS = ("Model", "Matrices", *comparing.COMPARED, "Hits@10 against STransE (95 %)")
METHOD = (
    f"{comparing.METHOD} ITransF with more or fewer concepts, all else as in the main table, beside the two models "
    "that share nothing (STransE, two matrices per relation) and project nothing (TransE)."
)


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
        points, baselines = read_points(results, scope, dataset), read_baselines(results, scope, dataset)
        rows = tabulate(points, baselines, scope, dataset)
        parts.append(make_table(COLUMNS, rows, title=scope.title(dataset)))
        if points:
            caption = f"{scope.title(dataset)}: ITransF against the number of its matrices (not to scale), with 95 %."
            drawing = partial(draw_curve, make_curve(points, baselines))
            parts.append(Picture(f"compression-{scope.data(dataset)}", caption, drawing))
    return Section("Fewer matrices (Figure 5)", tuple(parts))


def read_points(results: Results, scope: Scope, dataset: str) -> dict[int, Summary]:
    """Return what is stored for a graph, by the number of concepts."""
    found = {
        matrices: summarise(results.find_seeds(make_point(scope, dataset, matrices)))
        for matrices in list_matrices(scope, dataset)
    }
    return {matrices: summary for matrices, summary in found.items() if summary is not None}


def read_baselines(results: Results, scope: Scope, dataset: str) -> dict[str, Summary]:
    """Return what is stored of each baseline."""
    found = {row: summarise(results.find_seeds(make_row(scope, dataset, row))) for row in BASELINES}
    return {row: summary for row, summary in found.items() if summary is not None}


def make_curve(points: dict[int, Summary], baselines: dict[str, Summary]) -> Curve:
    """Return what is drawn."""
    levels = {BASELINES[row][0]: (summary, BASELINES[row][1]) for row, summary in baselines.items()}
    return Curve({f"{matrices:,}": summary for matrices, summary in points.items()}, "concept matrices", levels)


def tabulate(
    points: dict[int, Summary], baselines: dict[str, Summary], scope: Scope, dataset: str
) -> list[tuple[str, ...]]:
    """Return a row for each baseline and each number of concepts."""
    rows = []
    for row, (title, _) in BASELINES.items():
        summary = baselines.get(row)
        published = None if scope.quick else paper.MAIN[row][dataset]
        rows.append((title, write_matrices(summary), *comparing.compare_with_paper(summary, published), "–"))
    baseline = baselines.get("stranse")
    for matrices in list_matrices(scope, dataset):
        summary = points.get(matrices)
        gain = write_difference(summary.compare(baseline, "hits@10"), "hits@10") if summary and baseline else "–"
        rows.append(("ITransF", f"{matrices:,}", *comparing.compare_with_paper(summary, None), gain))
    return rows


def write_matrices(summary: Summary | None) -> str:
    """Return how many matrices a model has."""
    return "–" if summary is None else f"{summary.records[0]['matrices']:,}"


COMPRESSION = Stage("compression", "Figure 5", list_jobs, render)
