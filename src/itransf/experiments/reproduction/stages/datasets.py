"""Table 1: how large the graphs are."""

from __future__ import annotations

from itransf.experiments.reproduction import paper
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Record, Results
from itransf.experiments.reproduction.sections import MISSING, Section, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.main import DATASETS
from itransf.experiments.reproduction.summaries import format_percent

COUNTED = ("entities", "relations", "train", "valid", "test")
COLUMNS = ("Graph", "", "Entities", "Relations", "Train", "Valid", "Test", "Leaked, %")
METHOD = (
    "*Leaked* is the share of test triples whose two entities are linked in reverse in train. What a model gains there "
    "says little about what it would find in triples nobody has written down yet."
)


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the table needs."""
    return [scope.make_measure(dataset, "describe") for dataset in DATASETS]


def render(results: Results, scope: Scope) -> Section:
    """Return the table: the paper's counts above those of the files here."""
    rows: list[tuple[str, ...]] = []
    for dataset in DATASETS:
        record = results.find(scope.make_measure(dataset, "describe"))
        if not scope.quick:
            printed = (f"{paper.DATASETS[dataset][name]:,}" for name in COUNTED)
            rows.append((scope.title(dataset), "paper", *printed, "–"))
        rows.append((scope.title(dataset), "here", *count(record)))
    return Section("Graphs (Table 1)", (make_table(COLUMNS, rows, names=2), METHOD))


def count(record: Record | None) -> tuple[str, ...]:
    """Return the counts of a graph and what its train gives away."""
    if record is None:
        return (MISSING, *["–"] * len(COUNTED))
    figures = (f"{record['counts'][name]:,}" for name in COUNTED)
    return (*figures, format_percent(record["leakage"]["reversed_pair"]))


COUNTS = Stage("datasets", "Table 1", list_jobs, render)
