"""Libraries that are compared: one file for each, with its training and its filtered ranking.

Each has `train(task, clock)`, which trains until the clock stops it, and `prepare_ranking(task)`, which returns a
function that ranks triples (n, 3). Only its own file imports a library, so that it may be missing.
`python -m benchmarks.contenders TASK` measures one task, in a process of its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

import numpy as np

import itransf
from itransf.data.graph import Triples


@dataclass(frozen=True)
class Task:
    """One measurement, the same for every contender except for its name and the number of test triples.

    Attributes:
        activity: "training" or "ranking".
        contender: Library: "ours", "pykeen" or "torchkge".
        model: Name of the model in that library.
        dataset: Name of a dataset of `itransf.load`.
        dim: Length of entity and relation embeddings.
        norm: Distance of our models, 1 or 2; other libraries use their own default.
        loss: "hinge" with one negative, or "cross_entropy" over all entities on both sides of a triple (1-vs-all).
        batch_size: Triples per update.
        block_size: Triples of one relation that our shuffling keeps together; 1 shuffles freely.
        margin: Margin of the hinge loss.
        learning_rate: Learning rate for the mean loss of a batch.
        concepts: m of ITransF.
        support_size: k of ITransF.
        triples: Number of test triples to rank on both sides; 0 ranks all.
        ranking_batch: Batch size of the other libraries' evaluators.
        warmup: Seconds of training that do not count.
        seconds: Seconds of training that count.
        threads: Number of torch threads.
        seed: Random seed of weights, batches, negatives and the sample of test triples.
        fast: Whether numba may be used.
    """

    activity: Literal["training", "ranking"]
    contender: str
    model: str
    dataset: str
    dim: int
    norm: int = 1
    loss: str = "hinge"
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

    def load(self) -> itransf.Graph:
        """Load the graph; every contender gets the same triples."""
        return itransf.load(self.dataset, progress=False)

    def draw_triples(self) -> Triples:
        """Return the test triples to rank."""
        test = self.load().test
        if not self.triples or self.triples >= len(test):
            return test
        return test[np.sort(np.random.default_rng(self.seed).permutation(len(test))[: self.triples])]


class Stopwatch(Protocol):
    """Receives the progress of a contender's training."""

    def count(self, units: int) -> None:
        """Add positive triples; raise when the time is up."""
        ...
