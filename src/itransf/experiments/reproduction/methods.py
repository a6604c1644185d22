"""What can be done for a job: train and rank, train and validate, rank by rules, describe a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from itransf.data.graph import SPLITS
from itransf.data.leakage import measure_leakage
from itransf.evaluation import rank_triples
from itransf.experiments.reproduction.coding import code_and_rank
from itransf.experiments.reproduction.jobs import Job
from itransf.experiments.reproduction.measuring import (
    describe_attention,
    describe_run,
    measure_buckets,
    measure_figures,
    measure_ranks,
    round_off,
)
from itransf.experiments.reproduction.rules import RuleList
from itransf.experiments.reproduction.timing import time_epochs
from itransf.experiments.reproduction.workshop import Workshop


def train_and_rank(job: Job, shop: Workshop) -> dict[str, Any]:
    """Train, then rank the validation triples, by which presets are chosen, and the test triples, once."""
    run = shop.obtain_run(job)
    valid, test = (
        rank_triples(run.model, triples, run.graph.known, progress=shop.progress)
        for triples in (run.graph.valid, run.graph.test)
    )
    about = describe_run(run) | describe_attention(run)
    return about | {"valid": measure_figures(valid)} | measure_ranks(run.graph, test)


def train_and_validate(job: Job, shop: Workshop) -> dict[str, Any]:
    """Train, then rank the validation triples alone: what is not a final row has no business with test."""
    run = shop.obtain_run(job)
    valid = rank_triples(run.model, run.graph.valid, run.graph.known, progress=shop.progress)
    return describe_run(run) | {"valid": measure_figures(valid), "valid_buckets": measure_buckets(run.graph, valid)}


def apply_rules(job: Job, shop: Workshop) -> dict[str, Any]:
    """Rank the test triples by what train implies in one step."""
    graph = shop.load(job)
    return measure_ranks(graph, rank_triples(RuleList(graph), graph.test, graph.known, progress=shop.progress))


def describe_graph(job: Job, shop: Workshop) -> dict[str, Any]:
    """Count a graph, its relations, and what its train gives away of its test."""
    graph = shop.load(job)
    counts = {"entities": len(graph.entities), "relations": len(graph.relations)}
    return {
        "counts": counts | {split: len(graph.split(split)) for split in SPLITS},
        "frequencies": sorted(graph.statistics.counts.tolist(), reverse=True),
        "leakage": {name: round_off(share) for name, share in asdict(measure_leakage(graph)).items()},
    }


@dataclass(frozen=True)
class Method:
    """A way to do a job.

    Attributes:
        do: Returns what is stored of it.
        what: The word after `itransf reproduce` that does it again; empty where `itransf train` does.
    """

    do: Callable[[Job, Workshop], dict[str, Any]]
    what: str = ""

    @property
    def trains(self) -> bool:
        """Whether it is a training and its ranks, nothing that is made of one."""
        return not self.what


METHODS: dict[str, Method] = {
    "train": Method(train_and_rank),
    "validate": Method(train_and_validate),
    "rules": Method(apply_rules, "rules"),
    "describe": Method(describe_graph, "datasets"),
    "timing": Method(time_epochs, "sparseness"),
    "sparse-coding": Method(code_and_rank, "sparse-encoding"),
}
"""Every way to do a job, by the name a job tells it by."""
