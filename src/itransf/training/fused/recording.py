"""Recording of the kernels of a step as a CUDA graph, whose replay needs one launch."""

from collections.abc import Callable
from threading import Lock

import torch

_one_at_a_time = Lock()


def record(step: Callable[[], object], warm_up: int) -> torch.cuda.CUDAGraph:
    """Run a step a few times, which compiles its kernels, and record another one, which does not run.

    Other trainings may run on other streams of the device, in other threads. A stream chosen by torch could be one of
    theirs, whose work would be recorded instead of run; so the current stream records, unless it is the default one,
    which cannot record and beside which there are no others.
    """
    current, recording = torch.cuda.current_stream(), torch.cuda.CUDAGraph()
    is_default = current == torch.cuda.default_stream()
    own = torch.cuda.Stream() if is_default else current  # type: ignore[no-untyped-call]
    with _one_at_a_time:
        own.wait_stream(current)
        with torch.cuda.stream(own):
            for _ in range(warm_up):
                step()
        torch.cuda.synchronize()
        with torch.cuda.graph(recording, stream=own, capture_error_mode="thread_local"):
            step()
    return recording
