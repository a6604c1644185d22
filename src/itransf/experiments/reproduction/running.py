"""Doing the jobs that have no result yet, several side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from itransf.experiments.bench.records import start_record
from itransf.experiments.reproduction.jobs import Job
from itransf.experiments.reproduction.methods import METHODS
from itransf.experiments.reproduction.results import Record, Results
from itransf.experiments.reproduction.summaries import format_metric
from itransf.experiments.reproduction.workshop import Workshop
from itransf.experiments.side_by_side import run_side_by_side
from itransf.run import choose_device

PACKAGES = ("torch", "numpy", "numba", "triton", "scikit-learn")
SHOWN = {"MR": "mr", "MRR": "mrr", "Hits@10": "hits@10"}
Tell = Callable[[str], None]


def run_jobs(
    jobs: Iterable[Job],
    results: Results,
    shop: Workshop,
    side_by_side: int = 1,
    again: bool = False,
    tell: Tell = lambda line: None,
) -> list[Job]:
    """Do jobs and store the result of each as it ends; return those that were done.

    Args:
        jobs: What is needed; what has a result made with the settings of now is left out.
        results: Where results are looked for and stored.
        shop: Where trainings lie, and on which device they run.
        side_by_side: How many run at once on a GPU.
        again: Do even what has a result, and train from the start.
        tell: Is given a line about each job that ended.
    """
    wanted = [job for job in dict.fromkeys(jobs) if again or results.find(job) is None]
    if again:
        for job in wanted:
            if METHODS[job.method].trains:  # what only starts from a training leaves it be
                shop.folder(job).clear()
    device, done = choose_device(shop.device), 0
    for wave in sort_into_waves(wanted):
        tasks = [partial(do_job, job, results, shop) for job in wave]
        for place, record in run_side_by_side(tasks, side_by_side, device):
            done += 1
            tell(f"[{done}/{len(wanted)}] {describe(wave[place], record)}")
    return wanted


def sort_into_waves(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return jobs such that what starts from a training comes after it; what needs none comes first."""
    waves: list[list[Job]] = [[], [], []]
    for job in jobs:
        waves[0 if not job.preset else 1 if METHODS[job.method].trains else 2].append(job)
    return [wave for wave in waves if wave]


def do_job(job: Job, results: Results, shop: Workshop) -> Record:
    """Do one job and store its result."""
    method = METHODS[job.method]
    words = ("itransf", "reproduce", method.what) if method.what else job.words
    record: dict[str, Any] = start_record("reproduction", words, job.seed, {}, PACKAGES)
    device = choose_device(shop.device)
    threads = {"threads": torch.get_num_threads()} if device.type == "cpu" else {}
    record |= {"device": device.type, **threads, "settings": list(job.all_settings), **method.do(job, shop)}
    results.store(job, record)
    return record


def describe(job: Job, record: Record) -> str:
    """Say what came out of a job in one line."""
    kind = next((kind for kind in ("metrics", "valid") if kind in record), None)
    if kind is None:
        return job.key
    figures = ", ".join(f"{name} {format_metric(record[kind][key], key)}" for name, key in SHOWN.items())
    seconds = f" ({record['training']['seconds']:,.0f} s)" if "training" in record else ""
    return f"{job.key}: {figures}{seconds}"
