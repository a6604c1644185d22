"""Invented results: a folder of results without any training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from reproduction.jobs import Job
from reproduction.measurement import pack_attention
from reproduction.methods import WARM_UP, shorten
from reproduction.results import Results
from reproduction.rows import SHORT

from itransf.data.vocabulary import Vocabulary
from itransf.interpret import Attention

RELATIONS = (("often", 500, 0), ("sometimes", 50, 1), ("_rarely", 9, 2), ("_hardly", 5, 2))
"""Name, training triples, frequency bucket."""
NAMES = {
    "fb15k": (*SHORT, "/some/other"),
    "wn18": ("_hypernym", "_hyponym", "_instance_hypernym", "_similar_to", "_other"),
}
CODING = {"library": "some 1.0", "penalty": 0.0123, "non_zeros": 5.04, "non_zeros_kept": 3.5, "error": 0.021}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """Return an empty folder of results."""
    return Results(tmp_path / "results")


@pytest.fixture
def store(results: Results) -> Callable[..., None]:
    """Return a function that stores an invented result of a job."""

    def keep(job: Job, **figures: Any) -> None:
        results.store(job, make_record(job, **figures))

    return keep


@pytest.fixture
def make() -> Callable[..., dict[str, Any]]:
    """Return the function that invents a result."""
    return make_record


def make_record(
    job: Job, mr: float = 100.0, hits: float = 0.5, rare_hits: float | None = None, **others: Any
) -> dict[str, Any]:
    """Return a result with these figures; `others` are parts that replace the invented ones."""
    record: dict[str, Any] = {"command": "itransf train", "date": "2026-01-02T03:04:05+00:00", "seed": job.seed}
    if job.method == "describe":
        counts = {"entities": 40_943, "relations": 18, "train": 141_442, "valid": 5_000, "test": 5_001}
        leakage = {"reversed_pair": 0.94}
        return record | {"counts": counts, "frequencies": [500, 50, 9, 5], "leakage": leakage} | others
    if job.preset:
        record["config"] = job.resolve().to_dict()
    if job.method == "timing":
        seconds = [0.5 + ("model.attention=dense" in job.settings)]
        return record | {"seconds_of_epochs": seconds * (shorten(job.resolve()).training.epochs - WARM_UP)} | others
    # All runs move together where queries are hard, and a little apart.
    shared, own = (np.random.default_rng(salt).normal(size=1000) for salt in (0, crc32(job.key.encode())))
    rarest = hits if rare_hits is None else rare_hits
    record |= {
        "metrics": {"mr": mr, "mrr": hits / 2, "hits@1": hits / 4, "hits@3": hits / 3, "hits@10": hits},
        "relations": [make_relation(entry, rarest if entry[2] == 2 else hits) for entry in RELATIONS],
        "bootstrap": {
            "mr": (mr + 3 * shared + 0.1 * own).round(3).tolist(),
            "hits@10": (hits + 0.02 * shared + 0.001 * own).round(5).tolist(),
        },
    }
    if job.preset:
        record |= {"valid": dict(record["metrics"]), "valid_buckets": [hits, hits, rarest], "matrices": 30}
        record |= {"training": {"seconds": 20.0}, "parameters": 1234, "device": "cpu"}
        record["attention"] = pack_attention(make_attention(job))
    return record | ({"coding": CODING} if job.method == "sparse-coding" else {}) | others


def make_relation(entry: tuple[str, int, int], hits: float) -> dict[str, Any]:
    """Return a relation of 30 test triples (or 3), of which this share is hit on both sides."""
    name, triples, bucket = entry
    count = 3 if name == "_hardly" else 30
    hit = round(hits * count)
    digits = "2" * hit + "0" * (count - hit)
    counts = {"train_triples": triples, "bucket": bucket, "test_triples": count}
    return {"relation": name, **counts, "hits@10": hit / count, "hits": digits}


def make_attention(job: Job) -> Attention:
    """Return attention over four concepts in which inverse and symmetric relations mirror each other."""
    weights = np.zeros((2, 5, 4), dtype=np.float32)
    weights[0, 0] = weights[1, 1] = [0.75, 0.25, 0, 0]
    weights[1, 0] = weights[0, 1] = [0, 0.5, 0.5, 0]
    weights[1, 2] = [0, 0, 0.5, 0.5]
    weights[0, 2] = weights[0, 4] = [0, 0, 0, 1]
    weights[:, 3] = [0, 0.5, 0, 0.5]
    weights[1, 4] = [0.25, 0.25, 0.25, 0.25]
    signed = "model.attention=l1" in job.settings
    weights *= -4 if signed else 1
    names = Vocabulary(NAMES["fb15k" if job.preset.startswith("fb15k") else "wn18"], kind="relation")
    supports = np.zeros((2, 5, 2), dtype=np.int64)
    return Attention(weights, names, supports, np.arange(5, 0, -1), "l1" if signed else "sparse")
