from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from itransf.errors import ConfigError
from itransf.evaluation import rank_triples
from itransf.experiments.reproduction import jobs
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.methods import METHODS, Method
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.running import do_job, run_jobs, sort_into_waves
from itransf.experiments.reproduction.workshop import Workshop
from itransf.fitting import CHECKPOINT
from itransf.storage import RunFolder

SMALL = Scope(
    quick=True, settings=("training.epochs=2", "training.batch_size=1000", "model.dim=4", "validation.every=1")
)
TRANSE = SMALL.make_job("wn18/transe")
VALIDATED = SMALL.make_job("wn18/transe", method="validate")
RULES, GRAPH = (SMALL.make_measure("wn18", method) for method in ("rules", "describe"))


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "runs", "cpu")


def test_a_job_is_done_once_and_stored(results: Results, shop: Workshop) -> None:
    lines: list[str] = []
    assert run_jobs([TRANSE, RULES, GRAPH, TRANSE], results, shop, tell=lines.append) == [TRANSE, RULES, GRAPH]
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
    assert rules["command"] == "itransf reproduce rules"
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
    job = SMALL.make_job("wn18/transe", "checkpoint.epochs=1", seed=1)
    stored = do_job(job, results, shop)
    expected = stored["metrics"]
    assert stored["valid"].keys() == expected.keys()
    assert stored["valid"] != expected
    write, epochs = RunFolder.write_tensors, list[int]()

    def fall_over(folder: RunFolder, name: str, tensors: Any, triples: Any) -> None:
        write(folder, name, tensors, triples)
        if name == CHECKPOINT:
            epochs.append(triples["progress"]["epoch"])
            if len(epochs) == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(RunFolder, "write_tensors", fall_over)
    other = Workshop(shop.runs.parent / "others", "cpu")
    with pytest.raises(KeyboardInterrupt):
        do_job(job, results, other)
    assert do_job(job, results, other)["metrics"] == expected
    assert epochs[:2] == [1, 2]


def test_what_is_validated_never_sees_test(results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    final = do_job(TRANSE, results, shop)
    asked = list[Any]()

    def rank(model: Any, triples: Any, *rest: Any, **options: Any) -> Any:
        asked.append(triples)
        return rank_triples(model, triples, *rest, **options)

    monkeypatch.setattr("itransf.experiments.reproduction.methods.rank_triples", rank)
    lines: list[str] = []
    run_jobs([VALIDATED], results, shop, tell=lines.append)
    found = results.find(VALIDATED)
    assert found is not None
    assert found["valid"] == final["valid"]
    assert not {"metrics", "relations", "bootstrap", "attention"} & set(found)
    assert (len(asked), asked[0] is shop.load(TRANSE).valid) == (1, True)
    assert "Hits@10" in lines[0]


@pytest.mark.parametrize("job", [TRANSE, VALIDATED])
def test_again_trains_from_the_start(results: Results, shop: Workshop, job: Job) -> None:
    run_jobs([job], results, shop)
    before = (shop.folder(job).path / "run.json").stat().st_mtime_ns
    assert run_jobs([job], results, shop, again=True) == [job]
    assert (shop.folder(job).path / "run.json").stat().st_mtime_ns > before


def test_what_starts_from_a_training_comes_after_it() -> None:
    coded = SMALL.make_job("wn18/stranse", method="sparse-coding")
    waves = sort_into_waves([coded, coded.training, VALIDATED, RULES])
    assert waves == [[RULES], [coded.training, VALIDATED], [coded]]


def test_a_method_can_start_from_a_run(results: Results, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    def count(job: Job, place: Workshop) -> dict[str, Any]:
        return {"config": job.resolve().to_dict(), "entities": len(place.obtain_run(job).graph.entities)}

    monkeypatch.setitem(METHODS, "count", Method(count, "counting"))
    job = SMALL.make_job("wn18/transe", method="count", options=("by=hand",))
    run_jobs([job, TRANSE], results, shop)
    found = results.find(job)
    assert found is not None
    assert (found["entities"], found["command"]) == (1542, "itransf reproduce counting")
    assert [path.name for path in shop.runs.iterdir()] == [TRANSE.key]


def test_a_device_that_is_not_there_is_said_at_once(results: Results, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no device 'abacus'"):
        run_jobs([TRANSE], results, Workshop(tmp_path, "abacus"))
