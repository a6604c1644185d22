"""The memory that a training takes, estimated before anything is trained."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from itransf.config import Config
from itransf.data import SPLITS, Graph
from itransf.data.memory import find_free
from itransf.errors import ConfigError
from itransf.models import MODELS, Model
from itransf.registry import OPTIMIZERS
from itransf.training.trainer import weights

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

PER_TRIPLE, WORKING = 250, 3 * 2**28  # bytes: of indexes of triples, and of chunks of scores

_FACTORIES = {torch.arange, torch.empty, torch.eye, torch.full, torch.ones, torch.rand, torch.randint, torch.randn}
_FACTORIES |= {torch.tensor, torch.zeros}
_SHAPES: dict[Any, Callable[..., Sequence[int]]] = {
    Tensor.argsort: lambda values, **_: values.shape,
    torch.arange: lambda count, **_: [count],
    torch.diag_embed: lambda values: [*values.shape, values.shape[-1]],
    torch.eye: lambda count, **_: [count, count],
    torch.rand: lambda *size, **_: size,
    torch.randint: lambda low, high, size, **_: size,
    torch.randn: lambda *size, **_: size,
    Tensor.repeat: lambda values, *times: np.multiply(
        [1] * (len(times) - values.dim()) + [*values.shape], times
    ).tolist(),
}
_ELEMENTWISE = (Tensor.add, Tensor.div, Tensor.mul, Tensor.sub)
_SHAPES |= dict.fromkeys(_ELEMENTWISE, lambda *values: np.broadcast_shapes(*(np.shape(each) for each in values)))


class _Sketch(TorchFunctionMode):
    """Creates tensors that take no memory.

    What initializations use is answered here, most of it by the shape alone (`_SHAPES`): for tensors without memory,
    torch may import its compiler, which takes seconds.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func in (Tensor.add_, Tensor.normal_):
            return args[0]
        if func is Tensor.sort:
            return torch.return_types.sort((args[0], args[0]))
        with suppress(TypeError, ValueError):  # arguments that are not foreseen
            if func in _SHAPES:
                kind = torch.int64 if func in (Tensor.argsort, torch.arange, torch.randint) else None
                shape = tuple(_SHAPES[func](*args, **given))
                return torch.empty(shape, dtype=given.get("dtype", kind), device="meta")
        return func(*args, **({**given, "device": "meta"} if func in _FACTORIES else given))


def sketch_model(graph: Graph, config: Config) -> Model | None:
    """Return a new model whose tensors take no memory; None where it cannot be built so."""
    with suppress(RuntimeError, TypeError, ValueError), _Sketch():
        model: Model = MODELS[config.name].build(graph, config.model)
        return model
    return None


def sketch_weights(graph: Graph, config: Config) -> dict[str, Tensor]:
    """Return the weights of a new model as tensors without memory; none where a model cannot be built so."""
    model = sketch_model(graph, config)
    return {} if model is None else weights(model)


def estimate_memory(graph: Graph, config: Config, device: torch.device) -> int:
    """Return the bytes that this process will have in use when it trains, on the device; nothing is trained.

    Counted are the parameters, their copies (the state of the optimizer, the best weights, an average), indexes of
    known triples, and chunks of scores.
    """
    parameters = sum(tensor.nbytes for tensor in sketch_weights(graph, config).values())
    slots: tuple[str, ...] = OPTIMIZERS[config.training.optimizer].slots
    size = parameters * (2 + len(slots) + 2 * bool(config.training.weight_averaging))
    if device.type == "cuda":
        return size + WORKING
    triples = sum(len(graph.split(split)) for split in SPLITS)
    scores = min(WORKING, 24 * len(graph.entities) * config.training.batch_size)
    return find_used_memory() + size + PER_TRIPLE * triples + scores


def check_memory(graph: Graph, config: Config, device: torch.device) -> None:
    """Refuse a training that takes more memory than is free.

    Raises:
        ConfigError: It does.
    """
    needed, is_cuda = estimate_memory(graph, config, device), device.type == "cuda"
    most = torch.cuda.mem_get_info(device)[0] if is_cuda else find_free() + find_used_memory()
    if needed > most:
        raise ConfigError(
            f"training would take about {needed / 1e9:,.1f} GB of memory, and {most / 1e9:,.1f} GB are free; lower "
            f"model.dim (now {getattr(config.model, 'dim', 'not set')}), or use a machine with more"
        )


def find_peak_memory(device: torch.device) -> int:
    """Return the most bytes of memory that were in use so far, on the device; 0 where that is not known."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def find_used_memory() -> int:
    """Return the bytes of memory that this process has in use now, or the most so far where that is not known."""
    try:
        return resource.getpagesize() * int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, AttributeError):
        return find_peak_memory(torch.device("cpu"))
