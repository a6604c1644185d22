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
from itransf.experiments.reproduction.stages.families import FB15K, LARGER, WN18, Family, list_families
from itransf.experiments.reproduction.summaries import Summary, summarise
from itransf.experiments.reproduction.verdicts import write_difference

MATRICES = {WN18: (6, 12, 18, 24, 30, 36), LARGER: (18, 30), FB15K: (15, 30, 75, 300, 2200)}
"""Numbers of concepts; the paper names 18 and 30, and on FB15k starts from 2200."""
QUICK_MATRICES = (4, 8, 12)
BASELINES = {"stranse": ("STransE", ORANGE), "transe": ("TransE", GREY)}
COLUMNS = ("Model", "Matrices", *comparing.COMPARED, "Hits@10 against STransE (95 %)")
METHOD = (
    f"{comparing.METHOD} ITransF with more or fewer concepts, all else as in the main table, beside the two models "
    "that share nothing (STransE, two matrices per relation) and project nothing (TransE). *Larger batches* are those "
    "of the presets for rare relations; there only 18 and 30 concepts were trained."
)


def list_matrices(scope: Scope, family: Family) -> Sequence[int]:
    """Return the numbers of concepts that are tried."""
    return QUICK_MATRICES if scope.quick else MATRICES[family]


def list_baselines(family: Family) -> list[str]:
    """Return what ITransF is compared with."""
    return [row for row in BASELINES if family.has(row)]


def make_point(scope: Scope, family: Family, matrices: int) -> Job:
    """Return the training with so many concepts; the row's own where it has as many."""
    row = family.make_row(scope, "itransf")
    if row.resolve().model.concepts == matrices:
        return row
    return scope.make_job(row.preset, f"model.concepts={matrices}")


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the figure needs."""
    families = list_families(scope)
    baselines = [family.make_row(scope, row) for family in families for row in list_baselines(family)]
    return baselines + [make_point(scope, family, m) for family in families for m in list_matrices(scope, family)]


def render(results: Results, scope: Scope) -> Section:
    """Return a table for each family, and a figure for each graph."""
    parts: list[str | Table | Picture] = [METHOD]
    for family in list_families(scope):
        points, baselines = read_points(results, scope, family), read_baselines(results, scope, family)
        rows = tabulate(points, baselines, scope, family)
        parts.append(make_table(COLUMNS, rows, title=family.title(scope)))
        if points and len(list_matrices(scope, family)) > 2:
            caption = f"{family.title(scope)}: ITransF against the number of its matrices (not to scale), with 95 %."
            drawing = partial(draw_curve, make_curve(points, baselines))
            parts.append(Picture(f"compression-{scope.data(family.dataset)}", caption, drawing))
    return Section("Fewer matrices (Figure 5)", tuple(parts))


def read_points(results: Results, scope: Scope, family: Family) -> dict[int, Summary]:
    """Return what is stored of ITransF, by the number of concepts."""
    found = {
        matrices: summarise(results.find_seeds(make_point(scope, family, matrices)))
        for matrices in list_matrices(scope, family)
    }
    return {matrices: summary for matrices, summary in found.items() if summary is not None}


def read_baselines(results: Results, scope: Scope, family: Family) -> dict[str, Summary]:
    """Return what is stored of each baseline."""
    found = {row: summarise(results.find_seeds(family.make_row(scope, row))) for row in list_baselines(family)}
    return {row: summary for row, summary in found.items() if summary is not None}


def make_curve(points: dict[int, Summary], baselines: dict[str, Summary]) -> Curve:
    """Return what is drawn."""
    levels = {BASELINES[row][0]: (summary, BASELINES[row][1]) for row, summary in baselines.items()}
    return Curve({f"{matrices:,}": summary for matrices, summary in points.items()}, "concept matrices", levels)


def tabulate(
    points: dict[int, Summary], baselines: dict[str, Summary], scope: Scope, family: Family
) -> list[tuple[str, ...]]:
    """Return a row for each baseline and each number of concepts."""
    rows = []
    for row in list_baselines(family):
        summary = baselines.get(row)
        published = None if scope.quick else paper.MAIN[row][family.dataset]
        rows.append(
            (BASELINES[row][0], write_matrices(summary), *comparing.compare_with_paper(summary, published), "–")
        )
    baseline = baselines.get("stranse")
    for matrices in list_matrices(scope, family):
        summary = points.get(matrices)
        gain = write_difference(summary.compare(baseline, "hits@10"), "hits@10") if summary and baseline else "–"
        rows.append(("ITransF", f"{matrices:,}", *comparing.compare_with_paper(summary, None), gain))
    return rows


def write_matrices(summary: Summary | None) -> str:
    """Return how many matrices a model has."""
    return "–" if summary is None else f"{summary.records[0]['matrices']:,}"


COMPRESSION = Stage("compression", "Figure 5", list_jobs, render)
