"""Fitting one row of a model's tables, with all else frozen to the bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.models import Model
from itransf.training.negatives import make_sampler
from itransf.training.objectives import make_objective
from itransf.training.optimizers import Adam

NEGATIVES = 64  # corrupted copies of each triple in each step, where the run's own loss draws such and draws fewer


@dataclass(frozen=True)
class Effort:
    """How long a row is fitted.

    Attributes:
        steps: Updates.
        rate: The first learning rate; it falls linearly to zero.
        triples: The most triples of one step; zero takes all.
        hold: How strongly a row is held to where it starts: hold |row - start|^2 / (n |rows|^2) is added to the mean
            loss of n triples, |rows|^2 being the mean over the table. A handful of triples would else be learned by
            heart.
    """

    steps: int
    rate: float = 0.05
    triples: int = 1000
    hold: float = 0.0


def fit_row(
    model: Model, graph: Graph, config: Config, parameters: Sequence[str], row: int, count: int, effort: Effort
) -> None:
    """Fit one row of these parameters to the last training triples by the run's own loss and penalty.

    Args:
        model: Changed in place, in this row alone.
        graph: What is known.
        config: The run's settings.
        parameters: Names of tables that have such a row.
        row: Its number.
        count: How many triples.
        effort: How long.
    """
    near = keep_relations(graph, graph.train[-count:, 1])  # other relations have no part in the loss of these triples
    device = next(model.parameters()).device
    train = torch.as_tensor(near.train, device=device)
    triples = torch.arange(len(train) - count, len(train), device=device)
    settings = replace(
        config, negatives=replace(config.negatives, per_triple=max(config.negatives.per_triple, NEGATIVES))
    )
    objective = make_objective(near, train, make_sampler(near, settings.negatives, device), settings)
    generator = torch.Generator(device).manual_seed(config.seed)
    tables = {name: model.get_parameter(name) for name in parameters}
    anchors = {name: drop_anchor(table, row, effort.hold / count) for name, table in tables.items()}
    optimizer = Adam(tables.items(), effort.rate)
    touched = torch.tensor([row], device=device) if "entities" in tables else train.new_empty(0)
    with learning_only(model, tables.values()):
        for step in range(effort.steps):
            batch = choose_batch(triples, effort.triples, generator)
            (negatives,) = objective.draw(batch, len(batch), generator)
            loss, _ = objective(model, batch, negatives)
            penalty = model.penalty(*train[batch].unbind(1))
            (loss if penalty is None else loss + penalty).backward()  # type: ignore[no-untyped-call]
            for name, table in tables.items():
                table.grad = keep_row(table.grad, row, anchors[name].pull(table[row]))
            optimizer.learning_rate = effort.rate * (1 - step / effort.steps)
            optimizer.step()
            model.constrain(touched, None)


def keep_relations(graph: Graph, relations: npt.NDArray[np.int64]) -> Graph:
    """Return the graph with the training triples of these relations alone."""
    return replace(graph, train=graph.train[np.isin(graph.train[:, 1], relations)])


def choose_batch(triples: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Return all triples, or at most so many of them at random."""
    if not most or len(triples) <= most:
        return triples
    return triples[torch.randperm(len(triples), generator=generator, device=triples.device)[:most]]


@dataclass(frozen=True)
class Anchor:
    """Where a row started, and how strongly it is held there."""

    start: Tensor
    strength: float

    @torch.no_grad()
    def pull(self, row: Tensor) -> Tensor:
        """Return the gradient of strength |row - start|^2."""
        return 2 * self.strength * (row - self.start)


@torch.no_grad()
def drop_anchor(table: Tensor, row: int, weight: float) -> Anchor:
    """Hold a row where it is now, with a strength that does not depend on how long the table's rows are."""
    size = float(table.square().sum(1).mean())
    return Anchor(table[row].clone(), weight / max(size, torch.finfo(table.dtype).tiny))


def keep_row(gradient: Tensor | None, row: int, pull: Tensor) -> Tensor | None:
    """Return a gradient's row with the anchor's pull, as a sparse one: the optimiser leaves all other rows alone."""
    if gradient is None:
        return None
    if gradient.is_sparse:
        places, values = gradient._indices()[0], gradient._values()
        own = values[places == row].sum(0)
    else:
        own = gradient[row]
    device = gradient.device
    place = torch.tensor([[row]], device=device)
    return torch.sparse_coo_tensor(place, (own + pull)[None], gradient.shape, device=device, check_invariants=False)


@contextmanager
def learning_only(model: Model, parameters: Iterable[nn.Parameter]) -> Iterator[None]:
    """Let gradients reach these parameters alone while the block runs."""
    chosen = {id(parameter) for parameter in parameters}
    for parameter in model.parameters():
        parameter.requires_grad_(id(parameter) in chosen)
    try:
        yield
    finally:
        model.requires_grad_(True)
