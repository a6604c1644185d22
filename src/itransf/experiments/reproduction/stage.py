"""A stage: a table or figure of the paper, from the trainings it needs to what people see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import Section


@dataclass(frozen=True)
class Stage:
    """A table or figure of the paper.

    Attributes:
        name: What to ask for it by.
        source: Where it stands in the paper.
        list_jobs: Returns what it needs, once for any seed.
        render: Turns stored results into a section, whatever is stored so far.
        seeds: How many seeds of each training it needs.
    """

    name: str
    source: str
    list_jobs: Callable[[Scope], list[Job]]
    render: Callable[[Results, Scope], Section]
    seeds: int = 1

    def plan(self, scope: Scope) -> list[Job]:
        """Return everything it needs, in the order in which it is best done."""
        return scope.repeat(self.list_jobs(scope), self.seeds)
