"""Settings that were chosen among candidates, on validation, by rules that were there first."""

from __future__ import annotations

from itransf.experiments.reproduction.candidates import CHOICES
from itransf.experiments.reproduction.choosing import Choice, Figures
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.summaries import format_metric, format_percent

COLUMNS = ("Candidate", "Chosen for", "MR", "MRR", "Hits@10", "Rarest third", "Seeds")
METHOD = (
    "Where settings were in doubt, candidates were written down, after trials on validation, and with them a rule. "
    "Filtered ranks on *validation*, means over seeds; *rarest third* is Hits@10 of these relations, each counting the "
    "same, where it was stored. What is chosen is ranked on test in another table, the other candidates are not ranked "
    "there for this."
)


def list_choices() -> list[Choice]:
    """Return all choices."""
    return [choice for choices in CHOICES.values() for choice in choices]


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the tables need."""
    return [job for choice in list_choices() for job in choice.list_jobs(scope).values()]


def render(results: Results, scope: Scope) -> Section:
    """Return a table for each choice."""
    parts: list[str | Table] = [METHOD]
    for words, choices in CHOICES.items():
        parts += [words, *(write_table(results, scope, choice) for choice in choices)]
    return Section("How settings in doubt were chosen", tuple(parts))


def write_table(results: Results, scope: Scope, choice: Choice) -> Table:
    """Return the candidates, the chosen one marked once all are there."""
    figures = choice.measure(results, scope)
    chosen = choice.choose(figures)
    rows = [
        write_row(words, choice.preset if words == chosen else "", figures.get(words)) for words in choice.candidates
    ]
    graph = scope.title(choice.preset.partition("/")[0])
    return make_table(COLUMNS, rows, title=f"{choice.title} on {graph}", names=2)


def write_row(words: str, preset: str, figures: Figures | None) -> tuple[str, ...]:
    """Return a candidate's row."""
    if figures is None:
        return (words, preset, MISSING, "–", "–", "–", "0")
    ranks, hits = format_metric(figures.mr, "mr"), f"{100.0 * figures.hits:.2f}"
    rarest = "–" if figures.rarest is None else format_percent(figures.rarest)
    return (words, preset, ranks, f"{figures.mrr:.4f}", hits, rarest, str(figures.seeds))


SELECTION = Stage("selection", "not in the paper", list_jobs, render, seeds=3)
