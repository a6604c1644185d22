from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reproduction.experiments import Row, Scope
from reproduction.jobs import Job
from reproduction.measurement import unpack_attention
from reproduction.methods import Workshop, read_seconds, shorten
from reproduction.results import Results
from reproduction.runner import run_job, run_jobs, sort_into_waves

from itransf.data import load
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.evaluation import rank_triples
from itransf.storage import RunFolder
from reproduction import jobs, methods, sparse_coding

SMALL = Scope(
    quick=True, settings=("training.epochs=2", "training.batch_size=1000", "model.dim=4", "validation.every=1")
)
TRANSE = Row("", "wn18/transe").make_job(SMALL)
VALIDATED = Row("", "wn18/transe", method="validate").make_job(SMALL)
RULES, GRAPH = (Row("", dataset="wn18", method=method).make_job(SMALL) for method in ("rules", "describe"))
CODED = replace(Row("", "wn18/stranse", method="sparse-coding").make_job(SMALL), options=("atoms=5", "nonzeros=2"))
TIMED = Row("", "wn18/itransf").make_job(SMALL)


@cache
def load_part(dataset: str) -> Graph:
    """Return a graph with few triples to rank."""
    graph = load(dataset)
    return replace(graph, valid=graph.valid[:100], test=graph.test[:100])


@pytest.fixture(autouse=True)
def _few_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "load_once", load_part)


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "runs", "cpu")


def test_a_job_is_done_once_and_stored(results: Results, shop: Workshop) -> None:
    lines: list[str] = []
    assert run_jobs([TRANSE, RULES, GRAPH, TRANSE], results, shop, report=lines.append) == [TRANSE, RULES, GRAPH]
    assert [line.partition(":")[0] for line in lines] == [
        "[1/3] quick-world-rules",
        "[2/3] quick-world-describe",
        f"[3/3] {TRANSE.key}",
    ]
    assert "Hits@10" in lines[0]
    assert run_jobs([TRANSE, RULES, GRAPH], Results(results.folder), shop) == []


def test_a_record_holds_what_anyone_needs_to_repeat_it(results: Results, shop: Workshop) -> None:
    run_jobs([TRANSE, RULES, GRAPH], results, shop)
    found = Results(results.folder).find(TRANSE)
    assert found is not None
    assert found["command"].startswith("itransf train world --preset wn18/transe --set training.epochs=40")
    assert found["command"].endswith("--set validation.every=1 --seed 0")
    assert {"date", "git", "hardware", "versions", "device", "threads", "settings"} <= set(found)
    assert found["training"]["epochs"] == 2
    assert len(found["bootstrap"]["mr"]) == 1000
    rules, graph = results.find(RULES), results.find(GRAPH)
    assert rules is not None
    assert graph is not None
    assert rules["command"] == "python -m reproduction rules"
    assert rules["metrics"]["mrr"] > 0.5
    assert graph["counts"]["train"] == sum(graph["frequencies"])


def test_what_is_not_current_is_done_again(results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    run_jobs([TRANSE], results, shop)
    monkeypatch.setitem(jobs.QUICK, "loss.margin", 2.0)
    assert results.find(TRANSE) is None
    assert run_jobs([TRANSE], results, shop) == [TRANSE]
    found = results.find(TRANSE)
    assert found is not None
    assert found["config"]["loss"]["margin"] == 2.0


def test_a_training_that_was_stopped_goes_on(results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    job = replace(TRANSE, settings=(*TRANSE.settings, "checkpoint.epochs=1"), seed=1)
    stored = run_job(job, results, shop)
    expected = stored["metrics"]
    assert stored["valid"].keys() == expected.keys()
    assert stored["valid"] != expected
    write, epochs = RunFolder.write_checkpoint, list[int]()

    def fall_over(folder: RunFolder, tensors: Any, meta: Any) -> None:
        write(folder, tensors, meta)
        epochs.append(meta["progress"]["epoch"])
        if len(epochs) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "write_checkpoint", fall_over)
    other = Workshop(shop.runs.parent / "others", "cpu")
    with pytest.raises(KeyboardInterrupt):
        run_job(job, results, other)
    assert run_job(job, results, other)["metrics"] == expected
    assert epochs[:2] == [1, 2]


def test_what_is_validated_never_sees_test(results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    final = run_job(TRANSE, results, shop)
    asked = list[Any]()

    def rank(model: Any, triples: Any, *rest: Any, **options: Any) -> Any:
        asked.append(triples)
        return rank_triples(model, triples, *rest, **options)

    monkeypatch.setattr("reproduction.methods.rank_triples", rank)
    lines: list[str] = []
    run_jobs([VALIDATED], results, shop, report=lines.append)
    found = results.find(VALIDATED)
    assert found is not None
    assert found["valid"] == final["valid"]
    assert found["valid_filter"] == ["train", "valid"]
    assert not {"metrics", "relations", "bootstrap", "attention"} & set(found)
    assert (len(asked), asked[0] is load_part("world").valid) == (1, True)
    assert "Hits@10" in lines[0]


@pytest.mark.parametrize("job", [TRANSE, VALIDATED])
def test_again_trains_from_the_start(results: Results, shop: Workshop, job: Job) -> None:
    run_jobs([job], results, shop)
    before = (shop.folder(job).path / "run.json").stat().st_mtime_ns
    assert run_jobs([job], results, shop, again=True) == [job]
    assert (shop.folder(job).path / "run.json").stat().st_mtime_ns > before


def test_what_starts_from_a_training_comes_after_it() -> None:
    waves = sort_into_waves([CODED, CODED.training, VALIDATED, RULES])
    assert waves == [[RULES], [CODED.training, VALIDATED], [CODED]]


def test_sparse_coding_starts_from_a_trained_stranse(
    results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(sparse_coding, "PASSES", 5)
    run_jobs([CODED, CODED.training], results, shop)
    coded, trained = Results(results.folder).find(CODED), results.find(CODED.training)
    assert coded is not None
    assert trained is not None
    assert [path.name for path in shop.runs.iterdir()] == [CODED.training.key]
    assert (coded["matrices"], trained["matrices"]) == (5, 66)
    assert coded["command"] == "python -m reproduction sparse_encoding"
    assert 0 <= coded["coding"]["error"] < 0.5
    codes = unpack_attention(coded["attention"]).weights
    assert codes.shape == (2, 33, 5)
    assert (codes >= 0).all()
    assert (codes > 0).sum(axis=2).max() <= 2


def test_epochs_are_timed_apart_from_training(
    results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "TIMED", 3)
    job = replace(TIMED, settings=(*TIMED.settings, "assignment.every=2")).timing
    run_jobs([job], results, shop)
    found = Results(results.folder).find(job)
    assert found is not None
    assert len(found["seconds_of_epochs"]) == 4  # whole rounds of two
    assert all(seconds > 0 for seconds in found["seconds_of_epochs"])
    assert found["steps"] in ("fused", "plain")
    assert not shop.runs.exists()


@pytest.mark.parametrize(("every", "expected"), [(0, 10), (1, 10), (3, 12), (50, 50)])
def test_timed_epochs_are_whole_rounds_of_the_block_step(every: int, expected: int) -> None:
    settings = (f"assignment.every={every}", "assignment.start=40", "assignment.stop=0.5")
    config = shorten(replace(TIMED, settings=settings).resolve())
    counted = np.arange(1, config.training.epochs + 1)[methods.WARM_UP :]
    assert len(counted) == expected
    start, stop = config.assignment.start, config.assignment.stop * config.training.epochs
    due = counted[(counted >= start) & (counted <= stop) & ((counted - start) % max(every, 1) == 0)]
    assert len(due) == (expected // every if every else expected)


def test_epochs_with_a_block_step_count_as_often_as_in_a_whole_training() -> None:
    # Of the timed epochs 3 to 12, an assignment step follows 6 and 11; in 100 epochs there are four.
    config = Row("", "fb15k/itransf", set=("model.concepts=15",)).make_job().resolve()
    seconds = [1.0] * 10
    seconds[3] = seconds[8] = 2.0
    found = read_seconds(seconds, config)
    assert found.median == pytest.approx(1.04)
    assert found.interval == pytest.approx((1.04, 1.04))


def test_a_device_that_is_not_there_is_said_at_once(results: Results, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="abacus"):
        run_jobs([TRANSE], results, Workshop(tmp_path, "abacus"))
