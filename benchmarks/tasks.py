"""What one process measures: one contender, one graph, one activity."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

import itransf

Triples = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """One measurement, the same for every contender but for its name and its share of the test triples.

    Attributes:
        activity: `training` or `ranking`.
        contender: The library: `ours`, `pykeen` or `torchkge`.
        model: The model's name there.
        dataset: A name that `itransf.load` takes.
        dim: Length of entity and relation vectors.
        norm: The distance of our models, 1 or 2; peers keep their own default.
        batch_size: Triples per update.
        block_size: Triples of one relation that our shuffling keeps together; one shuffles freely.
        margin: Of the hinge loss.
        learning_rate: Of the batch-averaged loss.
        concepts: m of ITransF.
        support_size: k of ITransF.
        triples: How many test triples are ranked, each on both sides; zero takes all.
        ranking_batch: Triples a peer's evaluator scores at once.
        warmup: Seconds of training before the clock runs.
        seconds: Seconds of training that count.
        threads: Threads torch may use.
        seed: Of weights, batches, negatives and the sample of test triples.
        fast: Whether the extra `fast` (numba) may be used.
    """

    activity: Literal["training", "ranking"]
    contender: str
    model: str
    dataset: str
    dim: int
    norm: int = 1
    batch_size: int = 1000
    block_size: int = 1
    margin: float = 1.0
    learning_rate: float = 0.1
    concepts: int = 30
    support_size: int = 5
    triples: int = 0
    ranking_batch: int = 32
    warmup: float = 1.0
    seconds: float = 4.0
    threads: int = 1
    seed: int = 0
    fast: bool = True

    def to_json(self) -> str:
        """Return the task as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Task:
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))


class Stopwatch(Protocol):
    """What a contender's training reports to."""

    def count(self, units: int) -> None:
        """Take note of so many positive triples; raises when the time is up."""
        ...


def load_graph(task: Task) -> itransf.Graph:
    """Load the task's graph; every contender gets its numbers."""
    return itransf.load(task.dataset, progress=False)


def draw_triples(graph: itransf.Graph, count: int, seed: int) -> Triples:
    """Return `count` test triples, the same for the same seed; zero or more than there are takes all."""
    if not count or count >= len(graph.test):
        return graph.test
    chosen = np.random.default_rng(seed).permutation(len(graph.test))[:count]
    return graph.test[np.sort(chosen)]
