"""The methods of jobs: train, validate, rank by rules, time epochs, code matrices, describe a graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch

from itransf.config import Config
from itransf.data import Graph, load
from itransf.data.graph import SPLITS
from itransf.data.leakage import measure_leakage
from itransf.evaluation import Ranks, RuleList, rank_triples
from itransf.evaluation.rules import blend_with_rules
from itransf.fitting import build_model
from itransf.interpret import read_attention
from itransf.models import STransE
from itransf.run import Run, choose_device, train
from itransf.storage import RunFolder
from itransf.training import Trainer
from itransf.training.assignment import is_due
from reproduction.jobs import Job
from reproduction.measurement import (
    count_matrices,
    describe_run,
    measure_buckets,
    measure_figures,
    measure_ranks,
    pack_attention,
    round_off,
)
from reproduction.results import compare_settings
from reproduction.sparse_coding import encode_matrices
from reproduction.statistics import REPLICATES, Sample, resample_means

WARM_UP, TIMED = 2, 10
"""Epochs that are not timed, and the fewest that are."""
VALID_FILTER = ("train", "valid")
"""Splits whose triples are filtered out of validation ranks; a result that does not say used test as well."""
_ALONE = Lock()  # jobs run in parallel, but only one is timed at a time


@dataclass(frozen=True)
class Workshop:
    """Where and how jobs are done.

    Attributes:
        runs: Folder of run folders.
        device: "auto", "cpu" or "cuda".
        progress: Whether each training shows its progress.
    """

    runs: Path
    device: str = "auto"
    progress: bool = False

    def folder(self, job: Job) -> RunFolder:
        """Return the run folder of the training behind a job."""
        return RunFolder(self.runs / job.training.key)

    def obtain_run(self, job: Job) -> Run:
        """Return the training behind a job: opened, resumed, or trained.

        A folder that was trained with other settings than the job has now is trained again.
        """
        folder, config = self.folder(job), job.resolve()
        if folder.checkpoints and compare_settings(folder.read_config().to_dict(), config):
            folder.clear()
        options: dict[str, Any] = {"preset": job.preset, "settings": job.all_settings, "seed": job.seed}
        options |= {"out": folder.path, "resume": True, "device": self.device, "progress": self.progress}
        options["calibrate"] = False
        return train(load_once(job.dataset), **options)


@lru_cache(maxsize=4)
def load_once(dataset: str) -> Graph:
    """Return a graph, kept in memory for the next job."""
    return load(dataset)


def train_and_rank(job: Job, shop: Workshop) -> dict[str, Any]:
    """Train, then rank validation and test triples."""
    run = shop.obtain_run(job)
    attention = pack_attention(run.concepts()) if run.config.name == "itransf" else None
    test = rank_triples(run.model, run.graph.test, run.graph.known, progress=shop.progress)
    validated = {"valid": measure_figures(rank_valid(run, shop)), "valid_filter": list(VALID_FILTER)}
    return describe_run(run) | {"attention": attention, **validated} | measure_ranks(run.graph, test)


def train_and_validate(job: Job, shop: Workshop) -> dict[str, Any]:
    """Train, then rank validation triples alone."""
    run = shop.obtain_run(job)
    valid = rank_valid(run, shop)
    buckets = {"valid_buckets": measure_buckets(run.graph, valid), "valid_filter": list(VALID_FILTER)}
    return describe_run(run) | {"valid": measure_figures(valid), **buckets}


def rank_valid(run: Run, shop: Workshop) -> Ranks:
    """Rank validation triples without looking at test."""
    return rank_triples(run.model, run.graph.valid, run.graph.known_in(*VALID_FILTER), progress=shop.progress)


def blend_and_rank(job: Job, shop: Workshop) -> dict[str, Any]:
    """Train, then rank test triples by scores blended with one-hop rules; weights are chosen on valid."""
    run = shop.obtain_run(job)
    blend = blend_with_rules(run.model, run.graph, RuleList(run.graph), shop.progress)
    ranks = rank_triples(blend, run.graph.test, run.graph.known, progress=shop.progress)
    return describe_run(run) | {"attention": None} | measure_ranks(run.graph, ranks)


def apply_rules(job: Job, shop: Workshop) -> dict[str, Any]:
    """Rank test triples by one-hop rules mined from train."""
    graph = load_once(job.dataset)
    return measure_ranks(graph, rank_triples(RuleList(graph), graph.test, graph.known, progress=shop.progress))


def describe_graph(job: Job, shop: Workshop) -> dict[str, Any]:
    """Count entities, relations and triples, and the test triples that train gives away."""
    graph = load_once(job.dataset)
    counts = {"entities": len(graph.entities), "relations": len(graph.relations)}
    return {
        "counts": counts | {split: len(graph.split(split)) for split in SPLITS},
        "frequencies": sorted(graph.statistics.counts.tolist(), reverse=True),
        "leakage": {name: round_off(share) for name, share in asdict(measure_leakage(graph)).items()},
    }


def code_and_rank(job: Job, shop: Workshop) -> dict[str, Any]:
    """Code the matrices of a trained STransE sparsely, then rank test triples; options: `atoms=M`, `nonzeros=K`."""
    options = dict(option.split("=") for option in job.options)
    run = shop.obtain_run(job)
    assert isinstance(run.model, STransE), "only STransE has matrices to code"
    started = time.perf_counter()
    coding = encode_matrices(run.model, int(options["atoms"]), int(options["nonzeros"]), job.seed)
    seconds = time.perf_counter() - started
    ranks = rank_triples(coding.model, run.graph.test, run.graph.known, progress=shop.progress)
    return {
        "config": run.config.to_dict(),
        "coding": {
            "library": coding.library,
            "penalty": round_off(coding.penalty),
            "non_zeros": round_off(coding.non_zeros),
            "non_zeros_kept": round_off((coding.codes != 0).sum(axis=2).mean()),
            "error": round_off(coding.error),
            "seconds": round_off(seconds),
        },
        "parameters": sum(parameter.numel() for parameter in coding.model.parameters()),
        "matrices": count_matrices(coding.model),
        "attention": pack_attention(read_attention(coding.model, run.graph)),
    } | measure_ranks(run.graph, ranks)


def time_epochs(job: Job, shop: Workshop) -> dict[str, Any]:
    """Time epochs of a new training, some of them with an assignment step."""
    config = shorten(job.resolve())
    graph, device = load_once(job.dataset), choose_device(shop.device)
    with _ALONE:
        trainer = Trainer(build_model(graph, config, device), graph, config)
        epochs, seconds = trainer.epochs(), []
        for _ in range(config.training.epochs):
            started = time.perf_counter()
            next(epochs)
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            seconds.append(time.perf_counter() - started)
    engine = "plain" if trainer.engine is None else "fused"
    counted = [round_off(value) for value in seconds[WARM_UP:]]
    return {"config": job.resolve().to_dict(), "seconds_of_epochs": counted, "steps": engine}


def read_seconds(seconds: Sequence[float], config: Config, name: str = "") -> Sample:
    """Return the mean time of an epoch of a whole training, with replicates over the timed epochs.

    Args:
        seconds: Times of the epochs of a shortened training.
        config: Settings of the whole training, which has another share of epochs with an assignment step.
        name: Name of the job, from which the resampling is seeded.
    """
    generator = np.random.default_rng(list(name.encode()))
    times, steps = np.array(seconds), np.array(list_steps(shorten(config))[WARM_UP:])
    share = float(np.mean(list_steps(config))) if steps.any() else 0.0
    value, replicates = 0.0, np.zeros(REPLICATES)
    for part, weight in ((times[~steps], 1 - share), (times[steps], share)):
        if part.size:
            value += weight * float(part.mean())
            replicates += weight * resample_means(part[:, None], REPLICATES, generator)[:, 0]
    return Sample(np.array([value]), replicates[None])


def list_steps(config: Config) -> Any:
    """Return, for each epoch of a training, whether an assignment step follows it."""
    epochs = config.training.epochs
    return [config.has_assignment and is_due(config.assignment, epoch, epochs) for epoch in range(1, epochs + 1)]


def shorten(config: Config) -> Config:
    """Return settings for a few epochs, some of them with an assignment step."""
    every = max(config.assignment.every, 1)
    timed = -(-TIMED // every) * every  # whole rounds of the assignment step
    return replace(
        config,
        training=replace(config.training, epochs=WARM_UP + timed, max_minutes=0.0),
        assignment=replace(config.assignment, start=1, stop=1.0),
    )


@dataclass(frozen=True)
class Method:
    """A way to do a job.

    Attributes:
        do: Function that returns what is stored.
        experiment: Experiment whose command repeats it; empty where `itransf train` does.
    """

    do: Callable[[Job, Workshop], dict[str, Any]]
    experiment: str = ""


METHODS = {
    "train": Method(train_and_rank),
    "validate": Method(train_and_validate),
    "rules": Method(apply_rules, "rules"),
    "with-rules": Method(blend_and_rank, "models"),
    "describe": Method(describe_graph, "datasets"),
    "timing": Method(time_epochs, "sparseness"),
    "sparse-coding": Method(code_and_rank, "sparse_encoding"),
}
