"""Learn a new entity from triples with it, with all other parameters frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor, nn

from itransf.config import Config
from itransf.data.graph import Graph, Triples
from itransf.data.statistics import RelationStatistics
from itransf.errors import DataError
from itransf.models import Model
from itransf.prediction.inputs import GivenTriple, list_names, locate_triple
from itransf.teaching.fit_rows import Effort, NewRows, check_new_name, extend_graph, extend_model, fit_rows, is_called

ENTITY_EFFORT = Effort(steps=60, rate=0.05, hold=3.0)  # its start says less than a relation's


@torch.inference_mode(mode=False)
@torch.enable_grad()
def learn_entity(
    model: Model,
    graph: Graph,
    config: Config,
    name: str,
    triples: Iterable[GivenTriple],
    locate: Callable[[int], str] | None = None,
    effort: Effort = ENTITY_EFFORT,
) -> tuple[Model, Graph]:
    """Return a model and a graph with one more entity; all other parameters stay the same, bit for bit.

    Args:
        model: Trained model with an embedding per entity.
        graph: Its graph.
        config: Settings of the run, for the loss.
        name: Name of the new entity; surrounding blanks are dropped.
        triples: (head, relation, tail) by names or labels; each contains the entity.
        locate: Function from a triple's index to its place in messages.
        effort: Length of the fit.

    Raises:
        ConfigError: The model has more parameters per entity than an embedding, or none.
        DataError: The name is taken, a triple lacks the entity or has an unknown name.
    """
    name, locate = check_new_name(graph, "entity", name), locate or locate_triple
    named = []
    for row, names in enumerate(list_names(triples, locate)):
        head, relation, tail = names
        head, tail = (name if is_called(end, name) else end for end in (head, tail))
        if name not in (head, tail):
            raise DataError(f"{locate(row)}: does not contain {name!r}; give triples with it as head or tail")
        named.append((head, relation, tail))
    extended = extend_graph(graph, "entity", name, named, locate)
    refusal = f"the model {config.name} cannot learn an entity: its entities have no embedding, or more than one"
    larger = extend_model(model, extended, list_tables, refusal)
    (table,) = list_tables(larger)
    new = extended.train[len(graph.train) :]
    start_entities(table, graph.statistics, new, 1)
    fit_rows(larger, extended, config, {"entity": NewRows([table], 1, effort)}, len(new))
    return larger, extended


def list_tables(model: Model) -> list[nn.Parameter]:
    """Return the table of entity embeddings, if there is one."""
    return [table for kind, table in model.embeddings().items() if kind == "entities"]


@torch.no_grad()
def start_entities(table: Tensor, statistics: RelationStatistics, triples: Triples, count: int) -> None:
    """Start the last entities at the mean of those with the same roles, once per triple; of all, if there are none.

    Args:
        table: Embeddings, whose last rows are changed.
        statistics: Statistics of the graph without the new entities.
        triples: Triples with them, (n, 3).
        count: Number of new entities.
    """
    first = len(table) - count
    sums, counts = torch.zeros_like(table[first:]), table.new_zeros(count)
    for column, side in ((0, "head"), (2, "tail")):
        own = triples[triples[:, column] >= first]
        for relation in np.unique(own[:, 1]).tolist():
            alike = table[torch.as_tensor(statistics.domain(relation, side), device=table.device)]
            rows = torch.as_tensor(own[own[:, 1] == relation, column] - first, device=table.device)
            sums.index_add_(0, rows, alike.sum(0).expand(len(rows), *alike.shape[1:]))
            counts.index_add_(0, rows, counts.new_full((len(rows),), len(alike)))
    means = sums / counts.clamp_min(1).view(-1, *[1] * (table.dim() - 1))
    table[first:] = torch.where(counts.view(-1, *[1] * (table.dim() - 1)) > 0, means, table[:first].mean(0))


@torch.no_grad()
def find_closest(model: Model, graph: Graph, entity: int, top: int = 5) -> list[tuple[str, float]]:
    """Return the labels of the entities with the most similar embeddings, and the cosines."""
    vectors = torch.nn.functional.normalize(model.embeddings()["entities"].flatten(1), dim=1)
    cosines = vectors @ vectors[entity]
    cosines[entity] = -torch.inf
    found = cosines.topk(min(top, len(cosines) - 1))
    pairs = zip(found.indices.tolist(), found.values.tolist(), strict=True)
    return [(graph.entities.label(number), value) for number, value in pairs]
