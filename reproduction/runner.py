"""Runs the jobs that have no result yet, several at once on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from benchmarks.records import start_record
from benchmarks.streams import run_side_by_side

from itransf.run import choose_device
from reproduction.jobs import Job
from reproduction.methods import METHODS, Workshop
from reproduction.results import Record, Results
from reproduction.statistics import format_metric

PACKAGES = ("torch", "numpy", "numba", "triton", "scikit-learn")
SHOWN = {"MR": "mr", "MRR": "mrr", "Hits@10": "hits@10"}


def run_jobs(
    jobs: Iterable[Job],
    results: Results,
    shop: Workshop,
    parallel: int = 1,
    again: bool = False,
    report: Callable[[str], None] = print,
) -> list[Job]:
    """Run jobs and store each result as it arrives; return the jobs that were run.

    Args:
        jobs: Jobs that are needed; those with a result made with the present settings are skipped.
        results: Place of the results.
        shop: Place of the trainings, and their device.
        parallel: Number of jobs at once on a GPU.
        again: Whether to run jobs that have a result too, and to train from the start.
        report: Function that prints a line for each finished job.
    """
    wanted = [job for job in dict.fromkeys(jobs) if again or results.find(job) is None]
    if again:
        for job in wanted:
            if not METHODS[job.method].experiment:  # others start from a training and leave it alone
                shop.folder(job).clear()
    device, done = choose_device(shop.device), 0
    for wave in sort_into_waves(wanted):
        tasks = [partial(run_job, job, results, shop) for job in wave]
        for place, record in run_side_by_side(tasks, parallel, device):
            done += 1
            report(f"[{done}/{len(wanted)}] {describe(wave[place], record)}")
    return wanted


def sort_into_waves(jobs: list[Job]) -> list[list[Job]]:
    """Return jobs without training, then trainings, then jobs that start from a training."""
    waves: list[list[Job]] = [[], [], []]
    for job in jobs:
        waves[0 if not job.preset else 2 if METHODS[job.method].experiment else 1].append(job)
    return [wave for wave in waves if wave]


def run_job(job: Job, results: Results, shop: Workshop) -> Record:
    """Run one job and store its result."""
    method = METHODS[job.method]
    command = ("python", "-m", "reproduction", method.experiment) if method.experiment else job.command
    record: dict[str, Any] = start_record("reproduction", job.seed, {}, PACKAGES, command)
    device = choose_device(shop.device)
    threads = {"threads": torch.get_num_threads()} if device.type == "cpu" else {}
    record |= {"device": device.type, **threads, "settings": list(job.all_settings), **method.do(job, shop)}
    results.store(job, record)
    return record


def describe(job: Job, record: Record) -> str:
    """Return the key of a job and its figures in one line."""
    kind = next((kind for kind in ("metrics", "valid") if kind in record), None)
    if kind is None:
        return job.key
    figures = ", ".join(f"{name} {format_metric(record[kind][key], key)}" for name, key in SHOWN.items())
    seconds = f" ({record['training']['seconds']:,.0f} s)" if "training" in record else ""
    return f"{job.key}: {figures}{seconds}"
