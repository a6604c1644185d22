"""Fitting one row of a model's tables, with all else frozen to the bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.models import Model
from itransf.training.negatives import NegativeSampler
from itransf.training.objectives import make_objective
from itransf.training.optimizers import Adam

NEGATIVES = 64  # corrupted copies of each fact in each step, where the run's own loss draws such and draws fewer


@dataclass(frozen=True)
class Effort:
    """How long a row is fitted.

    Attributes:
        steps: Updates.
        rate: The first learning rate; it falls linearly to zero.
        facts: The most facts of one step; zero takes all.
    """

    steps: int = 200
    rate: float = 0.02
    facts: int = 1000


def fit_row(
    model: Model, graph: Graph, config: Config, parameters: Sequence[str], row: int, facts: Tensor, effort: Effort
) -> None:
    """Fit one row of these parameters to facts of train by the run's own loss and penalty.

    Args:
        model: Changed in place, in this row alone.
        graph: Whose facts they are.
        config: The run's settings.
        parameters: Names of tables that have such a row.
        row: Its number.
        facts: Places in train, (n,).
        effort: How long.
    """
    device = next(model.parameters()).device
    train = torch.as_tensor(graph.train, device=device)
    settings = replace(config, negatives=replace(config.negatives, per_fact=max(config.negatives.per_fact, NEGATIVES)))
    objective = make_objective(graph, train, NegativeSampler(graph, settings.negatives, device), settings)
    generator = torch.Generator(device).manual_seed(config.seed)
    tables = {name: model.get_parameter(name) for name in parameters}
    optimizer = Adam(tables.items(), effort.rate)
    touched = torch.tensor([row], device=device) if "entities" in tables else train.new_empty(0)
    with learning_only(model, tables.values()):
        for step in range(effort.steps):
            batch = choose_batch(facts, effort.facts, generator)
            loss, _ = objective(model, batch, generator)
            penalty = model.penalty(*train[batch].unbind(1))
            (loss if penalty is None else loss + penalty).backward()  # type: ignore[no-untyped-call]
            for table in tables.values():
                table.grad = keep_row(table.grad, row)
            optimizer.learning_rate = effort.rate * (1 - step / effort.steps)
            optimizer.step()
            model.constrain(touched)


def choose_batch(facts: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Return all facts, or at most so many of them at random."""
    if not most or len(facts) <= most:
        return facts
    return facts[torch.randperm(len(facts), generator=generator, device=facts.device)[:most]]


def keep_row(gradient: Tensor | None, row: int) -> Tensor | None:
    """Return a gradient's row alone, as a sparse one: the optimiser leaves all other rows as they are."""
    if gradient is None:
        return None
    if gradient.is_sparse:
        places, values = gradient._indices()[0], gradient._values()
        own = values[places == row].sum(0, keepdim=True)
    else:
        own = gradient[row : row + 1]
    place = torch.tensor([[row]], device=gradient.device)
    return torch.sparse_coo_tensor(place, own, gradient.shape, check_invariants=False)


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
