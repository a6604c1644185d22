"""From the name of a table or figure to what people see of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from itransf.errors import ConfigError, did_you_mean
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.running import Tell, run_jobs
from itransf.experiments.reproduction.sections import Section
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages import STAGES
from itransf.experiments.reproduction.workshop import Workshop

ALL = "all"


def list_stages(what: str) -> list[Stage]:
    """Return the stage of this name, or all of them."""
    if what == ALL:
        return list(STAGES.values())
    if what not in STAGES:
        known = (*STAGES, ALL, "render")
        hint = did_you_mean(what, known) or f" There are: {', '.join(known)}."
        raise ConfigError(f"the paper has no table or figure {what!r} here.{hint}")
    return [STAGES[what]]


def reproduce(
    what: str,
    scope: Scope,
    results: Path,
    shop: Workshop,
    *,
    side_by_side: int = 1,
    only: str = "",
    again: bool = False,
    render_only: bool = False,
    tell: Tell = lambda line: None,
) -> Iterator[Section]:
    """Do what each stage needs, store it, and yield its section before the next stage begins.

    Args:
        what: The name of a stage, or "all".
        scope: Quick or whole; which seeds.
        results: The folder of stored results.
        shop: Where trainings lie, and on which device they run.
        side_by_side: How many trainings run at once on a GPU.
        only: Do only jobs whose key holds this.
        again: Do even what has a result.
        render_only: Do nothing; show what is stored.
        tell: Is given a line about each job that ended.
    """
    stored, stages = Results(results), list_stages(what)
    plans = [[] for _ in stages] if render_only else plan_jobs(stages, scope, only)
    for stage, jobs in zip(stages, plans, strict=True):
        run_jobs(jobs, stored, shop, side_by_side, again, tell)
        yield stage.render(stored, scope)


def plan_jobs(stages: Sequence[Stage], scope: Scope, only: str) -> list[list[Job]]:
    """Return the jobs of each stage whose key holds `only`, if there are any at all."""
    plans = [stage.plan(scope) for stage in stages]
    chosen = [[job for job in jobs if only in job.key] for jobs in plans]
    if only and not any(chosen):
        keys = {job.key for jobs in plans for job in jobs}
        raise ConfigError(f"--only {only!r}: nothing has that in its name. There are: {', '.join(sorted(keys))}")
    return chosen
