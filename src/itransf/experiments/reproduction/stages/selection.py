"""How long FB15k's rows are trained, and at what rate: candidates on validation, and a rule that was there first."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import NamedTuple

from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Record, Results
from itransf.experiments.reproduction.sections import MISSING, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.summaries import format_metric

PRESETS = {"fb15k/stranse": "STransE", "fb15k/itransf": "ITransF"}
CANDIDATES: dict[str, tuple[str, ...]] = {
    "115 epochs, the rate falls to zero": (
        "training.epochs=115",
        "training.decay=linear",
        "training.average=0.0",
    ),
    "70 epochs, the rate stays, weights are averaged": (
        "training.epochs=70",
        "training.decay=none",
        "training.average=0.9",
    ),
    "100 epochs, the rate stays, weights are averaged": (
        "training.epochs=100",
        "training.decay=none",
        "training.average=0.9",
    ),
}
SLACK = 0.002  # of Hits@10 that a candidate may lack of the best one's
COLUMNS = ("Candidate", "MR", "Hits@10", "Seeds", "")
METHOD = (
    "What the paper calls training *until convergence* is a trade: more epochs raise Hits@10 and mean rank alike. So "
    "candidates were written down, after trials with one seed on validation, and with them a rule: of those whose "
    "Hits@10 is at most 0.2 points below the best one's, the one with the lowest mean rank. Filtered ranks on "
    "*validation*, means over seeds. What is chosen is ranked on test in the main table, the others are not; before "
    "the rule was written, other lengths of training at a falling rate had been. In a first round the warm start was "
    "averaged as well, which did no better and was given up. ITransF with domain sampling and TransR take over what is "
    "chosen for ITransF and STransE."
)


class Figures(NamedTuple):
    """How a candidate does on validation, on average over its seeds."""

    mr: float
    hits: float
    seeds: int


def list_candidates(scope: Scope, preset: str) -> dict[str, Job]:
    """Return the trainings of a preset's candidates, by name; what the preset already is trains nothing of its own."""
    usual = scope.make_job(preset, method="validate")
    jobs = {words: scope.make_job(preset, *settings, method="validate") for words, settings in CANDIDATES.items()}
    return {words: usual if job.resolve() == usual.resolve() else job for words, job in jobs.items()}


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the tables need."""
    return [job for preset in PRESETS for job in list_candidates(scope, preset).values()]


def choose(figures: Mapping[str, Figures]) -> str:
    """Return the candidate with the lowest mean rank of those that lack little of the best Hits@10."""
    enough = max(each.hits for each in figures.values()) - SLACK
    return min((name for name, each in figures.items() if each.hits >= enough), key=lambda name: figures[name].mr)


def render(results: Results, scope: Scope) -> Section:
    """Return a table for each preset."""
    tables = (write_table(results, scope, preset) for preset in PRESETS)
    return Section("How FB15k's rows were chosen", (METHOD, *tables))


def write_table(results: Results, scope: Scope, preset: str) -> Table:
    """Return the candidates of a preset, the chosen one marked once all are there."""
    figures = measure(results, scope, preset)
    chosen = choose(figures) if len(figures) == len(CANDIDATES) else None
    rows = [write_row(words, figures.get(words), words == chosen) for words in CANDIDATES]
    return make_table(COLUMNS, rows, title=f"{PRESETS[preset]} on {scope.title('fb15k')}: {preset}")


def measure(results: Results, scope: Scope, preset: str) -> dict[str, Figures]:
    """Return the figures of those of a preset's candidates that have any."""
    records = {words: results.find_seeds(job) for words, job in list_candidates(scope, preset).items()}
    return {words: average(found) for words, found in records.items() if found}


def average(records: list[Record]) -> Figures:
    """Return the mean figures of a candidate's seeds."""
    mr, hits = (fmean(record["valid"][metric] for record in records) for metric in ("mr", "hits@10"))
    return Figures(mr, hits, len(records))


def write_row(words: str, figures: Figures | None, is_chosen: bool) -> tuple[str, ...]:
    """Return a candidate's row."""
    if figures is None:
        return (words, MISSING, "–", "0", "")
    ranks, hits = format_metric(figures.mr, "mr"), f"{100.0 * figures.hits:.2f}"
    return (words, ranks, hits, str(figures.seeds), "chosen" if is_chosen else "")


SELECTION = Stage("selection", "not in the paper", list_jobs, render, seeds=3)
