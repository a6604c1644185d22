from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from itransf.errors import ConfigError
from itransf.experiments.bench import ceilings, hardware, run_bench, running, write_record
from itransf.experiments.bench.clock import TimeIsUpError, time_calls
from itransf.experiments.bench.costs import Shape
from itransf.experiments.bench.settings import configure

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ceilings, "SIDE", {"cpu": 64})
        patch.setattr(ceilings, "COPIED", {"cpu": 1000})
        patch.setattr(running, "SHAPES", (Shape(8, 10), Shape(12, 20)))
        return run_bench(device="cpu", seconds=0.01, progress=False)


def test_everything_is_measured_beside_the_ceilings(record: dict[str, Any]) -> None:
    assert [(found["activity"], found["dim"]) for found in record["measures"]] == [
        ("training", 8),
        ("ranking", 8),
        ("training", 12),
        ("ranking", 12),
    ]
    for found in record["measures"]:
        assert found["rate"] > 0
        assert found["counted"] > 0
        assert found["flops"] == found["rate"] * found["cost"]["flops"]
        assert found["of_product"] == found["flops"] / record["ceilings"]["product"]["flops"]
        assert found["of_copy"] == found["bytes"] / record["ceilings"]["copy"]["bytes"]


def test_the_record_says_what_ran_where(record: dict[str, Any], tmp_path: Path) -> None:
    assert record["command"] == "itransf bench --data world --device cpu --seconds 0.01 --seed 0"
    assert {"torch", "numba", "python", "itransf"} <= set(record["versions"])
    assert {"date", "seed", "config", "git", "hardware", "threads"} <= set(record)
    write_record(record, tmp_path / "record.json")
    assert json.loads((tmp_path / "record.json").read_text(encoding="utf-8")) == record


def test_the_papers_recipe_is_measured() -> None:
    config = configure(Shape(50, 30), seed=3)
    assert [(shape.dim, shape.concepts) for shape in running.SHAPES] == [(50, 30), (100, 300)]
    assert (config.model.dim, config.model.concepts, config.model.support_size) == (50, 30, 5)
    assert (config.training.batch_size, config.negatives.per_triple, config.seed) == (1000, 1, 3)
    assert (config.model.norm, config.loss.name, config.assignment.every, config.validation.every) == (1, "hinge", 0, 0)


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_every_triple_is_counted_once_an_epoch(at_once: int) -> None:
    counted: list[int] = []

    def count(units: int) -> None:
        counted.append(units)
        if sum(counted) == 100:
            raise TimeIsUpError

    class Pretender:
        train = range(50)
        config = configure(Shape(4, 6, batch_size=20))
        progress = SimpleNamespace(batches=0)

        def epochs(self, after_batch: Callable[[], None]) -> Iterator[int]:
            for epoch in range(10):
                while self.progress.batches < 3:
                    self.progress.batches = min(self.progress.batches + at_once, 3)
                    after_batch()
                self.progress.batches = 0
                yield epoch

    running.train_until(count, Pretender())  # type: ignore[arg-type]
    assert counted == 2 * {1: [20, 20, 10], 2: [40, 10], 3: [50]}[at_once]


@pytest.mark.parametrize(("seconds", "ranked"), [(0.0, 100), (3.0, 400), (1e3, 700)])
def test_as_many_triples_are_ranked_as_the_time_allows(
    seconds: float, ranked: int, monkeypatch: pytest.MonkeyPatch, random_graph: Any
) -> None:
    sizes: list[int] = []

    def pretend(call: Any, device: torch.device) -> float:
        call()
        return sizes[-1] / 200  # a hundred triples take half a second

    monkeypatch.setattr(running, "rank_triples", lambda model, triples, known: sizes.append(len(triples)))
    monkeypatch.setattr(running, "time_call", pretend)
    found = running.measure_ranking(random_graph(100, train=50, test=700), Shape(4, 6), CPU, seconds, 0)
    assert found["counted"] == 2 * ranked
    assert found["rate"] == 400
    assert sizes[:2] == [100, 100]  # the first is not timed


def test_calls_are_timed_until_the_seconds_are_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    assert len(time_calls(lambda: calls.append(1), CPU, 0.0)) == 1
    assert len(calls) == 2


def test_no_time_is_refused() -> None:
    with pytest.raises(ConfigError, match="above zero"):
        run_bench(seconds=0.0)


def test_the_commit_is_that_of_the_package_or_what_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ITRANSF_COMMIT", raising=False)
    assert hardware.describe_commit(tmp_path) == {"commit": None, "dirty": "unknown"}
    monkeypatch.setenv("ITRANSF_COMMIT", "abc")
    assert hardware.describe_commit(tmp_path) == {"commit": "abc", "dirty": "unknown"}


def test_a_repository_around_an_installed_copy_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ITRANSF_COMMIT", raising=False)
    package = tmp_path / "site-packages" / "itransf"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-C", str(tmp_path)]
    try:
        subprocess.run([*git, "init", "--quiet"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git is not here")
    subprocess.run([*git, "commit", "--allow-empty", "-q", "-m", "other"], check=True, capture_output=True)
    assert hardware.describe_commit(package)["commit"] is None
    subprocess.run([*git, "add", str(package)], check=True, capture_output=True)
    subprocess.run([*git, "commit", "-q", "-m", "ours"], check=True, capture_output=True)
    found = hardware.describe_commit(package)
    assert len(found["commit"]) == 40
    assert found["dirty"] is False
    monkeypatch.setenv("ITRANSF_COMMIT", "abc")
    assert hardware.describe_commit(package)["commit"] == "abc"


def test_hardware_without_lscpu_still_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert hardware.read_cpu_model()
