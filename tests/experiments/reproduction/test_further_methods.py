"""Sparse coding and timing, as jobs on a small graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from itransf.experiments.reproduction import timing
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.measuring import unpack_attention
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.running import run_jobs
from itransf.experiments.reproduction.workshop import Workshop
from itransf.interpret import sparse_coding

SMALL = Scope(
    quick=True,
    settings=("training.epochs=2", "training.batch_size=1000", "model.dim=4", "warm_start.epochs=0"),
)


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "runs", "cpu")


def test_sparse_coding_starts_from_a_trained_stranse(
    results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(sparse_coding, "PASSES", 5)
    job = SMALL.make_job("wn18/stranse", method="sparse-coding", options=("atoms=5", "nonzeros=2"))
    run_jobs([job, job.training], results, shop)
    coded, trained = Results(results.folder).find(job), results.find(job.training)
    assert coded is not None
    assert trained is not None
    assert (coded["matrices"], trained["matrices"]) == (5, 66)
    assert coded["parameters"] < trained["parameters"]
    assert coded["queries"] == trained["queries"]
    assert coded["command"] == "itransf reproduce sparse-encoding"
    assert coded["coding"]["library"].startswith("scikit-learn ")
    assert 0 <= coded["coding"]["error"] < 0.5
    codes = unpack_attention(coded["attention"]).weights
    assert codes.shape == (2, 33, 5)
    assert (codes >= 0).all()
    assert (codes > 0).sum(axis=2).max() <= 2


def test_epochs_are_timed_apart_from_training(
    results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "TIMED", 3)
    job = SMALL.make_job("wn18/itransf", "assignment.every=2", method="timing")
    run_jobs([job], results, shop)
    found = Results(results.folder).find(job)
    assert found is not None
    assert len(found["seconds_of_epochs"]) == 4  # whole rounds of two
    assert all(seconds > 0 for seconds in found["seconds_of_epochs"])
    assert found["steps"] in ("fused", "plain")
    assert found["config"]["training"]["epochs"] == 2  # the job's, not what was timed
    assert not shop.runs.exists()


@pytest.mark.parametrize(("every", "expected"), [(0, 10), (1, 10), (3, 12), (50, 50)])
def test_timed_epochs_are_whole_rounds_of_the_choice(every: int, expected: int) -> None:
    job = SMALL.make_job("wn18/itransf", f"assignment.every={every}", "assignment.start=40", "assignment.stop=0.5")
    config = timing.shorten(job.resolve())
    counted = np.arange(1, config.training.epochs + 1)[timing.WARM_UP :]
    assert len(counted) == expected
    start, stop = config.assignment.start, config.assignment.stop * config.training.epochs
    due = counted[(counted >= start) & (counted <= stop) & ((counted - start) % max(every, 1) == 0)]
    assert len(due) == (expected // every if every else expected)
