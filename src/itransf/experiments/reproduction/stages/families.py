"""Where STransE and ITransF are compared: on each graph, and on WN18 with settings for rare relations, too."""

from __future__ import annotations

from dataclasses import dataclass

from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.stages.main import make_row
from itransf.presets import list_presets


@dataclass(frozen=True)
class Family:
    """Rows that are compared with each other.

    Attributes:
        dataset: Their graph.
        suffix: What the names of their presets end in.
        words: What is said of them behind the name of the graph.
    """

    dataset: str
    suffix: str = ""
    words: str = ""

    def make_row(self, scope: Scope, row: str) -> Job:
        """Return the training of a row."""
        if self.suffix:  # no other preset can stand in for these
            return scope.make_job(f"{self.dataset}/{row}{self.suffix}")
        return make_row(scope, self.dataset, row)

    def has(self, row: str) -> bool:
        """Return whether there is such a row."""
        return not self.suffix or f"{self.dataset}/{row}{self.suffix}" in list_presets()

    def title(self, scope: Scope) -> str:
        """Return what these rows are called."""
        return f"{scope.title(self.dataset)}{self.words}"


WN18, FB15K = Family("wn18"), Family("fb15k")
LARGER = Family("wn18", "-rare", ", larger batches")


def list_families(scope: Scope) -> list[Family]:
    """Return all; cut down to minutes, batches are no larger in one than in another."""
    return [WN18, FB15K] if scope.quick else [WN18, LARGER, FB15K]
