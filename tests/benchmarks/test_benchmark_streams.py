from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Barrier, Event, get_ident
from typing import TYPE_CHECKING, Any

import pytest
import torch
from benchmarks.streams import run_side_by_side

from benchmarks import streams as module
from itransf import fitting
from itransf.config import Config
from itransf.data.graph import Graph
from itransf.fitting import Fit
from itransf.models import MODELS, Model
from itransf.storage import RunFolder
from itransf.training.trainer import weights

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

CPU, GPU = torch.device("cpu"), torch.device("cuda")
SOON = 20.0  # seconds after which something that should have happened did not
ENDLESS = ("training.epochs=1000000", f"training.max_minutes={SOON / 60}", "checkpoint.epochs=1")


@pytest.fixture
def _no_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what would go to a GPU's stream on the CPU, in plain steps."""
    monkeypatch.setattr(module, "_run_on_stream", lambda task, streams: task())
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: None)
    monkeypatch.setattr("itransf.training.trainer.make_engine", lambda *_: None)


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=24, valid=0, test=0)


class Folder(RunFolder):
    """A run folder that tells when a training is on its way."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.has_begun, self.has_saved = False, Event()

    def create(self, graph: Graph, config: Config, record: Any = None) -> None:
        self.has_begun = True
        super().create(graph, config, record)

    def write_checkpoint(self, tensors: Any, meta: Any) -> None:
        super().write_checkpoint(tensors, meta)
        self.has_saved.set()


def make_training(graph: Graph, config: Config, folder: Folder) -> Callable[[], Model]:
    def train() -> Model:
        folder.create(graph, config)
        return Fit(graph, config, CPU, folder, progress=False).run()

    return train


def has_stopped_early(folder: RunFolder) -> bool:
    progress = folder.read_checkpoint()[1]["progress"]
    return progress["epoch"] > 0 and not progress["finished"]


@pytest.mark.parametrize(("jobs", "device"), [(3, CPU), (1, GPU), (0, GPU)])
def test_one_after_the_other_in_order(jobs: int, device: torch.device) -> None:
    begun: list[int] = []

    def make(number: int) -> Callable[[], tuple[int, int]]:
        return lambda: (begun.append(number), (number, get_ident()))[1]

    results: Iterator[tuple[int, tuple[int, int]]] = run_side_by_side([make(n) for n in range(3)], jobs, device)
    assert begun == []
    assert next(results) == (0, (0, get_ident()))
    assert begun == [0]  # the next waits until it is asked for
    assert [result for _, (result, _) in results] == [1, 2]


@pytest.mark.usefixtures("_no_streams")
def test_several_at_once_each_place_gets_its_result() -> None:
    together, last = Barrier(2, timeout=SOON), Event()

    def wait_for_the_other(name: str) -> str:
        together.wait()  # ends only if both run at the same time
        return name

    def be_last() -> str:
        assert last.wait(SOON)
        return "last"

    tasks: list[Callable[[], str]] = [be_last, lambda: wait_for_the_other("b"), lambda: wait_for_the_other("c")]
    found: dict[int, str] = {}
    for place, result in run_side_by_side([*tasks, lambda: "d"], 3, GPU):
        found[place] = result
        if len(found) == 3:
            last.set()
    assert found == {0: "last", 1: "b", 2: "c", 3: "d"}
    assert list(found)[-1] == 0  # as they end, not as they were given


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stand-ins for a GPU's streams, as they are made; each keeps what happens on it."""
    made: list[Any] = []

    class Stream:
        def __init__(self, device: torch.device) -> None:
            self.told: list[Any] = [device]
            made.append(self)

        def synchronize(self) -> None:
            self.told.append("waited")

    @contextmanager
    def enter(stream: Stream) -> Iterator[None]:
        stream.told.append("entered")
        yield
        stream.told.append("left")

    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", enter)
    return made


def test_a_task_has_a_stream_and_is_waited_for(streams: list[Any]) -> None:
    assert list(run_side_by_side([lambda: streams[0].told.append("done")], 2, GPU)) == [(0, None)]
    assert streams[0].told == [GPU, "entered", "done", "left", "waited"]


@pytest.mark.parametrize(("jobs", "made"), [(3, 3), (100, 32)])
def test_no_more_streams_than_tasks_that_run_at_once(streams: list[Any], jobs: int, made: int) -> None:
    # Torch has 32, and gives one of those again to whoever asks for more.
    assert len(list(run_side_by_side([lambda: time.sleep(0.001)] * 100, jobs, GPU))) == 100
    assert len(streams) == made
    for stream in streams:
        assert stream.told == [GPU, *["entered", "left", "waited"] * (len(stream.told) // 3)]  # one at a time


def test_a_stream_is_free_again_when_its_task_failed(streams: list[Any]) -> None:
    queue = module.SimpleQueue[Any]()
    queue.put(torch.cuda.Stream(GPU))
    with pytest.raises(ZeroDivisionError):
        module._run_on_stream(lambda: 1 / 0, queue)
    assert queue.get_nowait() is streams[0]


@pytest.mark.usefixtures("_no_streams")
def test_one_that_fails_ends_the_others_where_they_stand(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    config = configure("transe", *ENDLESS)
    folders = [Folder(tmp_path / name) for name in ("running", "next", "never")]
    running, following, waiting = (make_training(graph, config, folder) for folder in folders)

    def fail() -> Model:
        assert folders[0].has_saved.wait(SOON)
        raise ValueError("no luck")

    with pytest.raises(ValueError, match="no luck"):
        list(run_side_by_side([running, fail, following, waiting], 2, GPU))
    assert has_stopped_early(folders[0])
    assert not folders[2].has_begun
    model = Fit(graph, configure("transe"), CPU, progress=False).run()  # the wish to stop is over
    assert isinstance(model, MODELS["transe"])


@pytest.mark.usefixtures("_no_streams")
def test_who_wants_no_more_results_ends_the_others(configure: Configure, graph: Graph, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "running")
    training = make_training(graph, configure("transe", *ENDLESS), folder)
    results = run_side_by_side([lambda: folder.has_saved.wait(SOON), training], 2, GPU)
    assert next(results) == (0, True)
    results.close()  # type: ignore[attr-defined]
    assert has_stopped_early(folder)


@pytest.mark.usefixtures("_no_streams")
def test_trainings_beside_each_other_learn_what_each_learns_alone(
    configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(MODELS["itransf"]):  # type: ignore[misc]
        def __init__(self, *arguments: Any) -> None:
            time.sleep(0.05)  # after the seed is set, before weights are drawn: time for another to set its own
            super().__init__(*arguments)

    monkeypatch.setattr(fitting, "MODELS", {"itransf": Slow})
    configs = [configure("itransf", f"seed={seed}", "assignment.every=1") for seed in range(2)]
    together = Barrier(2, timeout=SOON)

    def make(config: Config) -> Callable[[], Model]:
        return lambda: (together.wait(), Fit(graph, config, CPU, progress=False).run())[1]

    for place, model in run_side_by_side([make(config) for config in configs], 2, GPU):
        alone = weights(Fit(graph, configs[place], CPU, progress=False).run())
        assert all(torch.equal(tensor, alone[name]) for name, tensor in weights(model).items())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("model", ["itransf", "icomplex"])
def test_trainings_on_a_gpu_learn_what_each_learns_alone(short: Any, graph: Graph, model: str) -> None:
    # More than torch has streams: one that records must not have another's stream.
    settings = (model, "warm_start.epochs=2", "training.epochs=6", "training.deterministic=true")
    tasks = [partial(short, graph, *settings, f"seed={number % 4}", device="cuda") for number in range(80)]
    alone = [short(graph, *settings, f"seed={seed}", device="cuda") for seed in range(4)]
    for place, run in run_side_by_side(tasks, 4, torch.device("cuda")):
        ours, theirs = weights(run.model), weights(alone[place % 4].model)
        assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items()), place
