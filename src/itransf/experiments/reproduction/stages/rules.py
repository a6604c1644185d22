"""The one-hop rule list on every published graph: what leaks, and what does not."""

from __future__ import annotations

from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING, Section, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.summaries import format_metric

GRAPHS = ("wn18", "fb15k", "wn18rr", "fb15k-237")
METRICS = {"MR": "mr", "MRR": "mrr", "Hits@1": "hits@1", "Hits@3": "hits@3", "Hits@10": "hits@10"}
METHOD = (
    "No training at all: an answer is as good as the most confident rule that leads to it from train in one step "
    "(the same relation reversed, another one reversed, another one as it is); all other answers are tied behind. "
    "A model earns its keep where this list is weak."
)


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the table needs, each graph once."""
    return list(dict.fromkeys(scope.make_measure(dataset, "rules") for dataset in GRAPHS))


def render(results: Results, scope: Scope) -> Section:
    """Return a row for each graph."""
    rows = []
    for title, job in {scope.title(dataset): scope.make_measure(dataset, "rules") for dataset in GRAPHS}.items():
        record = results.find(job)
        figures = [MISSING, *["–"] * (len(METRICS) - 1)]
        if record is not None:
            figures = [format_metric(record["metrics"][key], key) for key in METRICS.values()]
        rows.append((title, *figures))
    return Section("What one-hop rules find", (METHOD, make_table(("Graph", *METRICS), rows)))


RULES = Stage("rules", "not in the paper", list_jobs, render)
