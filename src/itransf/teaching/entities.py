"""Learning a new entity from triples that mention it, with all else as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import torch

from itransf.config import Config
from itransf.data.graph import Graph, Triples
from itransf.data.statistics import RelationStatistics
from itransf.errors import ConfigError
from itransf.models import Model
from itransf.models.translation import Translation
from itransf.prediction.inputs import GivenTriple
from itransf.teaching.extending import add_entity, add_triples, complete_mentions, extend_model, name_places, tidy_name
from itransf.teaching.rows import Effort, fit_row

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
    """Return a model and a graph that know one more entity; all else keeps its bits.

    Args:
        model: Its other entities, relations and matrices are used as they are.
        graph: What it knows.
        config: The run's settings: the loss is its own.
        name: What to call the entity; blanks around it are dropped.
        triples: (head, relation, tail), names or labels, in this order or by these words; each mentions the entity.
        locate: Names the place of a triple (numbered from 0) in messages.
        effort: How long to fit.

    Raises:
        DataError: The name is taken, a triple does not mention the entity, or names something unknown.
    """
    if not isinstance(model, Translation):
        raise ConfigError(f"a {config.name} model has no vector per entity that could be fitted; train again")
    place, called = name_places(locate), tidy_name(name, "entity")
    named = add_entity(graph, called)
    extended = add_triples(named, complete_mentions(called, triples, place), place, f"entity {called!r}")
    larger = extend_model(model, extended)
    new = extended.train[len(graph.train) :]
    start_entity(larger, find_alike(graph.statistics, new, len(graph.entities)))
    fit_row(larger, extended, config, ["entities"], len(graph.entities), len(new), effort)
    return larger, extended


def find_alike(statistics: RelationStatistics, triples: Triples, entity: int) -> npt.NDArray[np.int64]:
    """Return the entities that stand where a new one stands in its triples, once per place; all, if there are none."""
    found = [statistics.head_domain(relation) for head, relation, _ in triples.tolist() if head == entity]
    found += [statistics.tail_domain(relation) for _, relation, tail in triples.tolist() if tail == entity]
    alike = np.concatenate([np.zeros(0, dtype=np.int64), *found])
    return alike if len(alike) else np.arange(entity)


@torch.no_grad()
def start_entity(model: Model, alike: npt.NDArray[np.int64]) -> None:
    """Start the last entity's vector at the mean of others."""
    table = model.get_parameter("entities")
    table[-1] = table[torch.as_tensor(alike, device=table.device)].mean(0)


@torch.no_grad()
def find_closest(model: Model, graph: Graph, entity: int, top: int = 5) -> list[tuple[str, float]]:
    """Return the labels of the entities whose vectors point most as this one's does, with the cosine."""
    vectors = torch.nn.functional.normalize(model.get_parameter("entities"), dim=1)
    cosines = vectors @ vectors[entity]
    cosines[entity] = -torch.inf
    found = cosines.topk(min(top, len(cosines) - 1))
    pairs = zip(found.indices.tolist(), found.values.tolist(), strict=True)
    return [(graph.entities.label(number), value) for number, value in pairs]
