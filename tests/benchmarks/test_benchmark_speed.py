from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from benchmarks.speed import Clock, TimeIsUpError, make_config, read_peak, reset_peak, time_calls, train_until

CPU = torch.device("cpu")


def test_the_clock_counts_only_what_follows_the_warm_up() -> None:
    times = iter([0.0, 0.5, 1.0, 2.0, 3.5])
    clock = Clock(warmup=1.0, seconds=2.0, now=lambda: next(times))
    for _ in range(4):
        clock.count(10)
    with pytest.raises(TimeIsUpError):
        clock.count(7)
    assert (clock.units, clock.elapsed) == (17, 2.5)


def test_the_first_unit_never_counts() -> None:
    times = iter([5.0, 6.0])
    clock = Clock(warmup=0.0, seconds=1.0, now=lambda: next(times))
    clock.count(10)
    with pytest.raises(TimeIsUpError):
        clock.count(10)
    assert (clock.units, clock.elapsed) == (10, 1.0)


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_every_triple_is_counted_once_an_epoch(at_once: int) -> None:
    counted: list[int] = []

    def count(units: int) -> None:
        counted.append(units)
        if sum(counted) == 100:
            raise TimeIsUpError

    class Pretender:
        train = range(50)
        config = make_config({"model.dim": 4, "training.batch_size": 20})
        progress = SimpleNamespace(batches=0)

        def epochs(self, after_batch: Callable[[], None]) -> Iterator[int]:
            for epoch in range(10):
                while self.progress.batches < 3:
                    self.progress.batches = min(self.progress.batches + at_once, 3)
                    after_batch()
                self.progress.batches = 0
                yield epoch

    train_until(count, Pretender())  # type: ignore[arg-type]
    assert counted == 2 * {1: [20, 20, 10], 2: [40, 10], 3: [50]}[at_once]


def test_calls_are_timed_until_the_seconds_are_spent() -> None:
    calls: list[int] = []
    assert len(time_calls(lambda: calls.append(1), CPU, 0.0)) == 1
    assert len(calls) == 2


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells")
def test_the_peak_is_that_of_what_was_held() -> None:
    reset_peak(CPU)
    before = read_peak(CPU)
    held = bytearray(1 << 28)
    after = read_peak(CPU)
    assert before is not None
    assert after is not None
    assert after - before >= 0.9 * len(held)
    del held
    reset_peak(CPU)
    least = read_peak(CPU)
    assert least is not None
    assert least < after - (1 << 27)
