"""Add rows to the embedding tables of a trained model and fit them, with all other parameters frozen to the bit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from itransf.config import Config
from itransf.data import Graph, Integers, Vocabulary
from itransf.data.splits import keep_distinct
from itransf.errors import ConfigError, DataError
from itransf.fitting import drawing
from itransf.models import Model
from itransf.prediction.inputs import resolve_triples
from itransf.training.negatives import make_sampler
from itransf.training.objectives import make_objective
from itransf.training.optimizers import Adam
from itransf.training.trainer import add_penalties, weights

BATCH = 1000  # maximum number of triples in one step
NEGATIVES = 64  # negatives of each triple in each step, where the run's own loss samples fewer
Kind = Literal["entity", "relation"]
M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Effort:
    """Length of the fit of a row.

    Attributes:
        steps: Number of updates.
        rate: Initial learning rate, which falls linearly to zero.
        hold: Weight of an l2 penalty that keeps a row near its start: hold |row - start|^2 / (n |rows|^2) is added to
            the mean loss of n triples, |rows|^2 being the mean over the table. It prevents overfitting to few triples.
    """

    steps: int
    rate: float = 0.05
    hold: float = 0.0


def check_new_name(graph: Graph, kind: Kind, name: object) -> str:
    """Return the name of a new entity or relation without surrounding blanks, if the graph does not have it."""
    if not isinstance(name, str):
        raise DataError(f"the new {kind} cannot be called {name!r}; names are text")
    name, vocabulary = name.strip(), graph.entities if kind == "entity" else graph.relations
    if not name:
        raise DataError(f"the new {kind} has no name; give it one")
    taken = vocabulary.find(name)
    if taken is not None:
        known = "" if vocabulary.has_name(name) else f" (it is the label of {vocabulary.name(taken)!r})"
        raise DataError(f"the {kind} {name!r} is in {graph.name} already{known}; choose another name, or train again")
    return name


def is_called(given: Any, name: str) -> bool:
    """Return whether a given name is this one, apart from surrounding blanks."""
    return isinstance(given, str) and given.strip() == name


def extend_graph(
    graph: Graph,
    kind: Kind,
    name: str,
    triples: list[tuple[str, str, str]],
    locate: Callable[[int], str],
) -> Graph:
    """Return the graph with a new entity or relation, and its distinct triples at the end of train."""
    if not triples:
        raise DataError("there are no triples to learn from; give a few")
    vocabulary = graph.entities if kind == "entity" else graph.relations
    larger = Vocabulary([*vocabulary.names, name], vocabulary.labels, kind)
    named = replace(graph, entities=larger) if kind == "entity" else replace(graph, relations=larger)
    added = keep_distinct(resolve_triples(named, triples, locate))
    count = f"{len(added):,} triple{'s' * (len(added) != 1)}"
    note = f"The {kind} {name!r} was learned from {count}; all other parameters stayed as they were."
    return replace(named, train=np.concatenate([graph.train, added]), notes=(*graph.notes, note))


@torch.no_grad()
def rebuild(model: M, graph: Graph, config: Any) -> M:
    """Return a model of the same class for another graph or other settings, with the values that both have.

    Tensors are copied as far as their shapes overlap, bit for bit; the rest has its initial values.
    """
    with drawing(0):
        built = type(model).build(graph, config)
    assert isinstance(built, type(model)), "a class builds its own models"
    built.to(next(model.parameters()).device).eval()
    known = weights(model)
    for name, tensor in weights(built).items():
        shared = tuple(slice(min(sizes)) for sizes in zip(tensor.shape, known[name].shape, strict=True))
        tensor[shared] = known[name][shared]
    return built


def extend_model(model: M, graph: Graph, tables: Callable[[M], Iterable[nn.Parameter]], refusal: str) -> M:
    """Return the model with a new row, its last, for the new name of the graph.

    Args:
        model: Trained model.
        graph: Graph with one more entity or relation.
        tables: Function from the larger model to the parameters that may get a row.
        refusal: Message if other parameters get one, too; their names are appended.

    Raises:
        ConfigError: Other parameters depend on the new name as well.
    """
    larger = rebuild(model, graph, model.config)
    allowed = {id(table) for table in tables(larger)}
    others = [
        name
        for name, parameter in larger.named_parameters()
        if id(parameter) not in allowed and parameter.shape != model.get_parameter(name).shape
    ]
    if others or not allowed:
        listed = f" ({', '.join(others)})" if others else ""
        raise ConfigError(f"{refusal}{listed}; train again with the new triples")
    return larger


@dataclass(frozen=True)
class NewRows:
    """The last rows of some tables, which are to be fitted.

    Attributes:
        tables: Tables, all with a row per entity or per relation.
        count: Number of rows.
        effort: Length of the fit.
    """

    tables: Sequence[nn.Parameter]
    count: int
    effort: Effort


def fit_rows(model: Model, graph: Graph, config: Config, rows: Mapping[Kind, NewRows], count: int) -> None:
    """Fit the last rows of some tables to the last training triples, by the run's own loss and penalties.

    Args:
        model: Model, changed in these rows alone.
        graph: Graph with the triples.
        config: Settings of the run.
        rows: New rows of entities, of relations, or both.
        count: Number of triples.
    """
    tables = {f"{kind}.{i}": (table, new) for kind, new in rows.items() for i, table in enumerate(new.tables)}
    if not tables or not count:
        return
    near = keep_relations(graph, graph.train[-count:, 1])  # other relations do not affect the loss of these triples
    device = next(model.parameters()).device
    train = torch.as_tensor(near.train, device=device)
    triples = torch.arange(len(train) - count, len(train), device=device)
    negatives = replace(config.negatives, per_triple=max(config.negatives.per_triple, NEGATIVES))
    settings = replace(config, negatives=negatives)
    objective = make_objective(near, train, make_sampler(near, negatives, device), settings)
    generator = torch.Generator(device).manual_seed(config.seed)
    holds = {name: measure_hold(table, new.effort.hold / count) for name, (table, new) in tables.items()}
    starts = {name: table.detach()[-new.count :].clone() for name, (table, new) in tables.items()}
    steps, rate = (max(getattr(new.effort, key) for new in rows.values()) for key in ("steps", "rate"))
    optimizer = Adam([(name, table) for name, (table, _) in tables.items()], rate)
    sizes: dict[Kind, int] = {"entity": model.sizes.entities, "relation": model.sizes.relations}
    counts = {kind: rows[kind].count if kind in rows else 0 for kind in sizes}
    touched = [torch.arange(size - counts[kind], size, device=device) for kind, size in sizes.items()]
    model.requires_grad_(False)
    for table, _ in tables.values():
        table.requires_grad_(True)
    for step in range(steps):
        batch = choose_batch(triples, BATCH, generator)
        (drawn,) = objective.draw(batch, len(batch), generator)
        loss, _ = objective(model, batch, drawn)
        add_penalties(loss, model, train[batch], config).backward()  # type: ignore[no-untyped-call]
        for name, (table, new) in tables.items():
            pull = pull_back(table.detach()[-new.count :], starts[name], holds[name])
            table.grad = keep_last_rows(table.grad, pull)
        optimizer.learning_rate = rate * (1 - step / steps)
        optimizer.step()
        model.constrain(*touched)
    model.requires_grad_(True)


def keep_relations(graph: Graph, relations: Integers) -> Graph:
    """Return the graph with the training triples of these relations alone."""
    return replace(graph, train=graph.train[np.isin(graph.train[:, 1], relations)])


def choose_batch(triples: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Return all triples, or a random sample of at most `most`."""
    if len(triples) <= most:
        return triples
    return triples[torch.randperm(len(triples), generator=generator, device=triples.device)[:most]]


@torch.no_grad()
def measure_hold(table: Tensor, weight: float) -> float:
    """Return the weight of |row - start|^2, relative to the mean squared length of the table's rows."""
    size = float(table.square().flatten(1).sum(1).mean())
    return weight / max(size, torch.finfo(table.dtype).tiny)


def pull_back(rows: Tensor, starts: Tensor, hold: float) -> Tensor:
    """Return the gradient of hold |row - start|^2 for each row."""
    return 2 * hold * (rows - starts)


def keep_last_rows(gradient: Tensor | None, pull: Tensor) -> Tensor | None:
    """Return the last rows of a gradient plus `pull` as a sparse gradient: the optimizer leaves all others alone."""
    if gradient is None:
        return None
    first = len(gradient) - len(pull)
    if gradient.is_sparse:
        rows, values = gradient._indices()[0], gradient._values()
        own = pull.index_add(0, rows[rows >= first] - first, values[rows >= first])
    else:
        own = gradient[first:] + pull
    places = torch.arange(first, len(gradient), device=own.device)[None]
    return torch.sparse_coo_tensor(places, own, gradient.shape, device=own.device, check_invariants=False)
