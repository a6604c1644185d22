"""PyKEEN's models, through its own training loops and evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from pykeen.evaluation import RankBasedEvaluator
from pykeen.losses import CrossEntropyLoss, MarginRankingLoss
from pykeen.models import ComplEx, DistMult, ERModel, RotatE, TransE, TransR
from pykeen.training import SLCWATrainingLoop, SymmetricLCWATrainingLoop, TrainingCallback, TrainingLoop
from pykeen.triples import CoreTriplesFactory

from benchmarks.contenders import Stopwatch, Task
from itransf import Graph
from itransf.data.graph import Triples

ENDLESS = 10**6  # epochs; the clock stops training long before
MODELS: dict[str, tuple[type[ERModel], dict[str, Any]]] = {
    "transe": (TransE, {"scoring_fct_norm": 1}),
    "transr": (TransR, {"relation_dim": -1}),
    "distmult": (DistMult, {"regularizer": None}),
    "complex": (ComplEx, {}),
    "rotate": (RotatE, {}),
}
"""Models, and their arguments beside the dimension, for which -1 stands."""


class _Counter(TrainingCallback):  # type: ignore[misc]
    """Reports every finished batch to the clock."""

    def __init__(self, clock: Stopwatch) -> None:
        super().__init__()
        self.clock = clock

    def post_batch(self, epoch: int, batch: Any, **kwargs: Any) -> None:
        """Count the positive triples of a batch."""
        self.clock.count(len(batch["positives"] if isinstance(batch, dict) else batch[0]))


def make_model(task: Task, graph: Graph) -> tuple[ERModel, CoreTriplesFactory]:
    """Return a new model and the training triples as PyKEEN stores them."""
    factory = CoreTriplesFactory(
        torch.as_tensor(graph.train), num_entities=len(graph.entities), num_relations=len(graph.relations)
    )
    kind, arguments = MODELS[task.model]
    is_hinge = task.loss == "hinge"
    model = kind(
        triples_factory=factory,
        embedding_dim=task.dim,
        loss=MarginRankingLoss(margin=task.margin, reduction="mean") if is_hinge else CrossEntropyLoss(),
        random_seed=task.seed,
        **{name: task.dim if value == -1 else value for name, value in arguments.items()},
    )
    return model.to("cpu"), factory


def make_loop(task: Task, model: ERModel, factory: CoreTriplesFactory) -> TrainingLoop:
    """Return the training loop: one Bernoulli negative per triple, or all entities on both sides."""
    options = {"model": model, "triples_factory": factory}
    options |= {"optimizer": torch.optim.SGD(model.parameters(), lr=task.learning_rate)}
    if task.loss == "cross_entropy":
        return SymmetricLCWATrainingLoop(**options)
    sampling = {"negative_sampler": "bernoulli", "negative_sampler_kwargs": {"num_negs_per_pos": 1}}
    return SLCWATrainingLoop(**options, **sampling)


def train(task: Task, clock: Stopwatch) -> None:
    """Train until the clock stops it."""
    model, factory = make_model(task, task.load())
    make_loop(task, model, factory).train(
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
