"""Several trainings at once on one GPU (to be replaced by benchmarks.streams, the same outside the package).

One training of small batches leaves most of a GPU idle. Streams of one process share it; processes would only take
turns. On a CPU one training already uses every core, so there the tasks run one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from typing import TypeVar

import torch

from itransf.progress import stopping_all_trainings

Result = TypeVar("Result")
Streams = SimpleQueue[torch.cuda.Stream]
MOST_STREAMS = 32  # that torch has; whoever asks for more is given one that is in use


def run_side_by_side(
    tasks: Sequence[Callable[[], Result]], jobs: int, device: torch.device
) -> Iterator[tuple[int, Result]]:
    """Run tasks and give each one's place and result as it ends.

    A task that fails ends the others: those that wait are dropped, and running trainings save where they stand and
    stop. The same happens when the user interrupts, or asks for no more results.

    Args:
        tasks: What to run; each keeps to `device`.
        jobs: How many run at once, at most 32; on a CPU one does.
        device: Where they train.
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
                future.cancel()  # before any training ends, and makes room for one that waits
            with stopping_all_trainings():
                pool.shutdown()
            raise


def _run_on_stream(task: Callable[[], Result], streams: Streams) -> Result:
    """Run a task on a stream that nobody else has meanwhile."""
    stream = streams.get()
    try:
        with torch.cuda.stream(stream):
            result = task()
        stream.synchronize()
        return result
    finally:
        streams.put(stream)
