"""Table 5: how often corrupted entities come from a relation's own domain."""

from __future__ import annotations

from functools import partial

from itransf.experiments.reproduction import comparing, paper
from itransf.experiments.reproduction.curves import Curve, draw_curve
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import Picture, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.main import DATASETS, make_row
from itransf.experiments.reproduction.summaries import summarise

LAMBDAS = (0.0, *paper.DOMAIN_SAMPLING)
"""None, then those of the paper."""
COLUMNS = ("λ", *comparing.COMPARED)
METHOD = (
    f"{comparing.METHOD} λ alone differs between these rows. A corrupted entity comes from the relation's domain with "
    "probability min(λ |M_T| |M_H| / |N_r|, 0.5). The paper trained 2000 epochs for this table, which may be why its "
    "numbers for λ = 0.001 on FB15k are others than in its main table; here each λ is trained as long as the preset "
    "says."
)


def make_training(scope: Scope, dataset: str, value: float) -> Job:
    """Return the training with this λ, all else as with domain sampling; a main row's own where it is the same."""
    never_over = () if value else ("negatives.domain_stop=1.0",)  # where there is none it cannot end
    changed = scope.make_job(f"{dataset}/itransf-domain", f"negatives.domain={value}", *never_over)
    rows = (make_row(scope, dataset, row) for row in ("itransf", "itransf-domain"))
    return next((row for row in rows if row.resolve() == changed.resolve()), changed)


def write_epochs(job: Job) -> str:
    """Return in which epochs of a training replacements come from domains."""
    config = job.resolve()
    epochs = config.training.epochs
    stop = round(config.negatives.domain_stop * epochs)
    return f"{epochs} epochs" if stop == epochs else f"the first {stop} of {epochs} epochs"


def note_end(scope: Scope, dataset: str) -> list[str]:
    """Say so where domain sampling ends before training does."""
    row = make_row(scope, dataset, "itransf-domain")
    if row.resolve().negatives.domain_stop == 1:
        return []
    return [f"Entities come from domains in {write_epochs(row)} only, in the paper in all."]


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the table needs."""
    return [make_training(scope, dataset, value) for value in LAMBDAS for dataset in DATASETS]


def render(results: Results, scope: Scope) -> Section:
    """Return a table and a figure for each graph."""
    parts: list[str | Table | Picture] = [METHOD]
    for dataset in DATASETS:
        found = {value: summarise(results.find_seeds(make_training(scope, dataset, value))) for value in LAMBDAS}
        rows = []
        for value, summary in found.items():
            published = None if scope.quick else paper.DOMAIN_SAMPLING.get(value, {}).get(dataset)
            rows.append((f"{value:g}", *comparing.compare_with_paper(summary, published)))
        parts += [make_table(COLUMNS, rows, title=scope.title(dataset)), *note_end(scope, dataset)]
        curve = Curve({f"{value:g}": summary for value, summary in found.items() if summary is not None}, "λ")
        if curve.points:
            caption = (
                f"{scope.title(dataset)}: ITransF against λ, which is not to scale; whiskers: 95 % over test triples."
            )
            parts.append(Picture(f"domain-sampling-{scope.data(dataset)}", caption, partial(draw_curve, curve)))
    return Section("Domain sampling (Table 5)", tuple(parts))


DOMAIN_SAMPLING = Stage("domain-sampling", "Table 5", list_jobs, render)
