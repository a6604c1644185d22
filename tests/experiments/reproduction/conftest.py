"""Made-up results: what a folder of results looks like, without training anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from itransf.experiments.reproduction.jobs import Job
from itransf.experiments.reproduction.results import Results

Store = Callable[..., None]

RELATIONS = (("often", 500, 0), ("sometimes", 50, 1), ("_rarely", 9, 2), ("_hardly", 5, 2))
"""Name, triples in train, frequency bucket."""
MEASURED: dict[str, Any] = {
    "describe": {
        "counts": {"entities": 40_943, "relations": 18, "train": 141_442, "valid": 5_000, "test": 5_000},
        "frequencies": [500, 50, 9, 5],
        "leakage": {"reversed_pair": 0.94},
    },
    "rules": {},
}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return an empty folder of results."""
    return Results(tmp_path / "results")


@pytest.fixture
def store(results: Results) -> Store:
    """Return a function that stores a made-up result of a job."""

    def keep(job: Job, **figures: Any) -> None:
        results.store(job, make_record(job, **figures))

    return keep


def make_record(
    job: Job, mr: float = 100.0, hits: float = 0.5, rare_hits: float | None = None, **others: Any
) -> dict[str, Any]:
    """Return a result with these figures.

    Args:
        job: What it is the result of.
        mr: Mean rank.
        hits: Hits@10, as a share.
        rare_hits: Hits@10 of the rarest relations; as of all, if not given.
        others: Further parts of the record, which replace those made up here.
    """
    record: dict[str, Any] = {
        "command": "itransf train " + job.dataset,
        "date": "2026-01-02T03:04:05+00:00",
        "seed": job.seed,
        "git": {"commit": "0123456789abcdef", "dirty": False},
        "hardware": {"cpu": "Some CPU", "gpu": None},
        "device": "cpu",
    }
    if job.method == "describe":
        return record | MEASURED["describe"] | others
    # All runs move together where queries are hard, and a little apart.
    shared, own = (np.random.default_rng(salt).normal(size=1000) for salt in (0, crc32(job.key.encode())))
    record |= {
        "metrics": {"mr": mr, "mrr": hits / 2, "hits@1": hits / 4, "hits@3": hits / 3, "hits@10": hits},
        "queries": 240,
        "relations": [make_relation(entry, hits, rare_hits) for entry in RELATIONS],
        "bootstrap": {
            "mr": (mr + 3 * shared + 0.1 * own).round(3).tolist(),
            "hits@10": (hits + 0.02 * shared + 0.001 * own).round(5).tolist(),
        },
    }
    if job.preset:
        record |= {
            "config": job.resolve().to_dict(),
            "valid": dict(record["metrics"]),
            "valid_buckets": [hits, hits, hits if rare_hits is None else rare_hits],
            "training": {"epochs": 10, "best": None, "seconds": 20.0, "seconds_per_epoch": 2.0},
            "parameters": 1_000_000,
            "matrices": 30,
            "attention": None,
        }
    return record | others


def make_relation(entry: tuple[str, int, int], hits: float, rare_hits: float | None) -> dict[str, Any]:
    """Return a relation of 30 test triples, of which this share is hit on both sides."""
    name, triples, bucket = entry
    share = rare_hits if rare_hits is not None and bucket == 2 else hits
    count = 3 if name == "_hardly" else 30
    hit = round(share * count)
    return {
        "relation": name,
        "train_triples": triples,
        "bucket": bucket,
        "test_triples": count,
        "mr": 10.0,
        "mrr": 0.5,
        "hits@10": hit / count,
        "hits": "2" * hit + "0" * (count - hit),
    }
