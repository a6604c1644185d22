"""Learn a new entity from triples with it, with all other parameters frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import nn

from itransf.config import Config
from itransf.data.graph import Graph, Triples
from itransf.data.known import Integers
from itransf.data.statistics import RelationStatistics
from itransf.errors import DataError
from itransf.models import Model
from itransf.prediction.inputs import GivenTriple, list_names, locate_triple
from itransf.teaching.fit_rows import Effort, check_new_name, extend_graph, extend_model, fit_row, is_called

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
    alike = find_alike(graph.statistics, new, len(graph.entities))
    with torch.no_grad():
        table[-1] = table[torch.as_tensor(alike, device=table.device)].mean(0)
    fit_row(larger, extended, config, "entity", [table], len(new), effort)
    return larger, extended


def list_tables(model: Model) -> list[nn.Parameter]:
    """Return the table of entity embeddings, if there is one."""
    return [table for kind, table in model.embeddings().items() if kind == "entities"]


def find_alike(statistics: RelationStatistics, triples: Triples, entity: int) -> Integers:
    """Return the entities with the same roles as a new one in its triples, once per role; all, if there are none."""
    found = [statistics.head_domain(relation) for head, relation, _ in triples.tolist() if head == entity]
    found += [statistics.tail_domain(relation) for _, relation, tail in triples.tolist() if tail == entity]
    alike = np.concatenate([np.zeros(0, dtype=np.int64), *found])
    return alike if len(alike) else np.arange(entity)


@torch.no_grad()
def find_closest(model: Model, graph: Graph, entity: int, top: int = 5) -> list[tuple[str, float]]:
    """Return the labels of the entities with the most similar embeddings, and the cosines."""
    vectors = torch.nn.functional.normalize(model.embeddings()["entities"].flatten(1), dim=1)
    cosines = vectors @ vectors[entity]
    cosines[entity] = -torch.inf
    found = cosines.topk(min(top, len(cosines) - 1))
    pairs = zip(found.indices.tolist(), found.values.tolist(), strict=True)
    return [(graph.entities.label(number), value) for number, value in pairs]
