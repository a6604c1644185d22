"""Where STransE and ITransF are compared: on each graph, and on WN18 with settings for rare relations, too."""

from __future__ import annotations

from dataclasses import dataclass

from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.stages.main import make_row


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
        return make_row(scope, self.dataset, f"{row}{self.suffix}")

    def title(self, scope: Scope) -> str:
        """Return what these rows are called."""
        return f"{scope.title(self.dataset)}{self.words}"


WN18, FB15K = Family("wn18"), Family("fb15k")
LARGER = Family("wn18", "-rare", ", larger batches")


def list_families(scope: Scope) -> list[Family]:
    """Return all, less what is no matter of minutes."""
    return [WN18, FB15K] if scope.quick else [WN18, LARGER, FB15K]
