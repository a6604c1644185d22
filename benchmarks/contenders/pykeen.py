"""PyKEEN's TransR, through its own training loop and evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.losses import MarginRankingLoss
from pykeen.models import TransR
from pykeen.training import SLCWATrainingLoop, TrainingCallback
from pykeen.triples import CoreTriplesFactory

from benchmarks.contenders import Stopwatch, Task
from itransf import Graph
from itransf.data.graph import Triples

ENDLESS = 10**6  # epochs; the clock stops training long before


class _Counter(TrainingCallback):  # type: ignore[misc]
    """Reports every finished batch to the clock."""

    def __init__(self, clock: Stopwatch) -> None:
        super().__init__()
        self.clock = clock

    def post_batch(self, epoch: int, batch: Any, **kwargs: Any) -> None:
        """Count the positive triples of a batch."""
        self.clock.count(len(batch["positives"]))


def make_model(task: Task, graph: Graph) -> tuple[TransR, CoreTriplesFactory]:
    """Return a new TransR and the training triples as PyKEEN stores them."""
    factory = CoreTriplesFactory(
        torch.as_tensor(graph.train), num_entities=len(graph.entities), num_relations=len(graph.relations)
    )
    model = TransR(
        triples_factory=factory,
        embedding_dim=task.dim,
        relation_dim=task.dim,
        loss=MarginRankingLoss(margin=task.margin, reduction="mean"),
        random_seed=task.seed,
    )
    return model.to("cpu"), factory


def train(task: Task, clock: Stopwatch) -> None:
    """Train until the clock stops it."""
    model, factory = make_model(task, task.load())
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer=torch.optim.SGD(model.parameters(), lr=task.learning_rate),
        negative_sampler="bernoulli",
        negative_sampler_kwargs={"num_negs_per_pos": 1},
    )
    loop.train(
        triples_factory=factory,
        num_epochs=ENDLESS,
        batch_size=task.batch_size,
        use_tqdm=False,
        use_tqdm_batch=False,
        pin_memory=False,
        callbacks=_Counter(clock),
    )


def prepare_ranking(task: Task) -> Callable[[Triples], None]:
    """Return a function that ranks triples with a new model, filtered with all three splits."""
    graph = task.load()
    model, _ = make_model(task, graph)
    model.eval()
    known = [torch.as_tensor(split) for split in (graph.train, graph.valid, graph.test)]

    def rank(triples: Triples) -> None:
        RankBasedEvaluator(filtered=True).evaluate(
            model=model,
            mapped_triples=torch.as_tensor(triples),
            batch_size=task.ranking_batch,
            additional_filter_triples=known,
            use_tqdm=False,
        )

    return rank
