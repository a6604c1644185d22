"""What each choice behind the best settings is worth: one after the other is taken back."""

from __future__ import annotations

from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Record, Results
from itransf.experiments.reproduction.sections import MISSING, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.best import GRAPHS, METRICS, find_best
from itransf.experiments.reproduction.summaries import format_metric

AS_IT_IS = "as it is"
VARIANTS: dict[str, tuple[str, ...]] = {
    AS_IT_IS: (),
    "each side chooses alone, as in the paper": ("assignment.search=single",),
    "the first concepts are drawn at random": ("assignment.init=random",),
    "the first concepts stay": ("assignment.every=0",),
    "concepts start as identities": ("model.concept_init=identity",),
    "concepts reflect half of each vector": ("model.concept_init=half",),
    "concepts reflect all of each vector": ("model.concept_init=reflect",),
    "one concept on a side": ("model.support_size=1",),
    "five concepts on a side": ("model.support_size=5",),
    "matrices learn as fast as vectors": ("model.matrix_lr_factor=1.0",),
    "vectors are held to unit length": ("model.entity_constraint=unit", "model.projected_constraint=unit"),
    "vectors have any length": ("model.entity_constraint=none", "model.projected_constraint=none"),
    "the paper's loss": ("loss.name=hinge",),
    "16 negatives": ("negatives.per_triple=16",),
    "64 negatives, of each triple its own": ("negatives.per_triple=64", "negatives.shared=false"),
    "triples are drawn one by one": ("training.block_size=1",),
    "triples are drawn 64 of a relation at a time": ("training.block_size=64",),
    "the rate stays, weights are averaged": ("training.lr_decay=none", "training.weight_averaging=0.9"),
    "the rate falls, nothing is averaged": ("training.lr_decay=linear", "training.weight_averaging=0.0"),
    "either side is corrupted as often": ("negatives.sampler=uniform",),
    "sides are corrupted as in the paper": ("negatives.sampler=bernoulli",),
}
"""What is changed, in words and settings; where a preset has it so already there is nothing to train."""
EPOCHS = {"fb15k": 20, "fb15k-237": 20}  # fewer than the presets have, for the sake of time
COLUMNS = ("Changed", *METRICS)
METHOD = (
    "One thing at a time is changed in a preset above. Filtered ranks on *validation*, by which the presets were "
    "chosen; Hits in percent; seed 0. Where epochs are named, all rows of a table were trained for so many, fewer than "
    "the preset has: what learns fast is ahead there, which need not be what ends best. A result of these tables "
    "whose `note` says so was ranked on test too when it was made; the note says what was taken out of it."
)


def list_variants(scope: Scope, dataset: str) -> dict[str, Job]:
    """Return the trainings of a graph by what is changed; none where no preset is the best yet."""
    preset = find_best(dataset)
    if preset is None:
        return {}
    epochs = find_epochs(scope, dataset)
    cut = (f"training.epochs={epochs}",) if epochs else ()
    jobs = {words: make_variant(scope, preset, (*settings, *cut)) for words, settings in VARIANTS.items()}
    usual = jobs[AS_IT_IS].resolve()
    return {words: job for words, job in jobs.items() if words == AS_IT_IS or job.resolve() != usual}


def make_variant(scope: Scope, preset: str, settings: tuple[str, ...]) -> Job:
    """Return the training of a variant, which is validated only; the preset itself is the row of another table."""
    return scope.make_job(preset, *settings, method="validate" if settings else "train")


def find_epochs(scope: Scope, dataset: str) -> int | None:
    """Return for how many epochs a graph's rows are trained, None where it is for as many as the preset says."""
    return None if scope.quick else EPOCHS.get(dataset)


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the tables need."""
    return [job for dataset in GRAPHS for job in list_variants(scope, dataset).values()]


def render(results: Results, scope: Scope) -> Section:
    """Return a table for each graph that has a preset."""
    parts: list[str | Table] = [METHOD]
    for dataset in GRAPHS:
        variants = list_variants(scope, dataset)
        rows = [(words, *write_figures(results.find(job))) for words, job in variants.items()]
        if rows:
            epochs = find_epochs(scope, dataset)
            length = f", {epochs} epochs" if epochs else ""
            parts.append(make_table(COLUMNS, rows, title=f"{scope.title(dataset)}: {find_best(dataset)}{length}"))
    return Section("What the choices are worth", tuple(parts) if len(parts) > 1 else (METHOD, MISSING))


def write_figures(record: Record | None) -> tuple[str, ...]:
    """Return the figures of a training on validation."""
    if record is None:
        return (MISSING, *["–"] * (len(METRICS) - 1))
    return tuple(format_metric(record["valid"][key], key) for key in METRICS.values())


ABLATION = Stage("ablation", "not in the paper", list_jobs, render)
