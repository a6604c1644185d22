"""Concurrent trainings on one GPU: a thread and a CUDA stream for each.

One training with small batches leaves most of a GPU idle. Streams of one process share it; processes would only take
turns. On a CPU one training already uses every core, so that the tasks run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from typing import TypeVar

import torch

from itransf.progress import STOP

Result = TypeVar("Result")
Streams = SimpleQueue[torch.cuda.Stream]
MOST_STREAMS = 32  # torch reuses streams beyond that


def run_side_by_side(
    tasks: Sequence[Callable[[], Result]], jobs: int, device: torch.device
) -> Iterator[tuple[int, Result]]:
    """Run tasks and yield the index and result of each as it ends.

    A task that fails stops the others: waiting tasks are dropped, and running trainings save a checkpoint and stop. The
    same happens when the user interrupts, or closes the iterator.

    Args:
        tasks: Functions to call; each uses only `device`.
        jobs: Number of concurrent tasks, at most 32; one on a CPU.
        device: Device of the trainings.
    """
    if jobs <= 1 or device.type != "cuda":
        for place, task in enumerate(tasks):
            yield place, task()
        return
    at_once = min(jobs, MOST_STREAMS)
    streams: Streams = SimpleQueue()
    for _ in range(at_once):
        streams.put(torch.cuda.Stream(device))  # type: ignore[no-untyped-call]
    with ThreadPoolExecutor(at_once) as pool:
        futures = {pool.submit(_run_on_stream, task, streams): place for place, task in enumerate(tasks)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            for future in futures:
                future.cancel()  # before a training ends and a waiting one would start
            STOP.set()
            try:
                pool.shutdown()
            finally:
                STOP.clear()
            raise


def _run_on_stream(task: Callable[[], Result], streams: Streams) -> Result:
    """Run a task on a stream that no other task uses."""
    stream = streams.get()
    try:
        with torch.cuda.stream(stream):
            result = task()
        stream.synchronize()
        return result
    finally:
        streams.put(stream)
