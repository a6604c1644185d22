"""Room for one more: a graph with a new name and its triples, a model with a new row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from itransf.data.graph import Graph
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError
from itransf.models import Model, Sizes
from itransf.prediction.inputs import GivenTriple, list_names, locate_triple, resolve_triples
from itransf.training.trainer import weights

NamedTriple = tuple[str, str, str]


def tidy_name(name: str, kind: str) -> str:
    """Return the name of a new relation or entity without blanks around it, refusing what is none."""
    if not isinstance(name, str):
        raise DataError(f"the new {kind} cannot be called {name!r}; names are text")
    if not name.strip():
        raise DataError(f"the new {kind} has no name; give it one")
    return name.strip()


def add_relation(graph: Graph, name: str) -> Graph:
    """Return the graph with a new relation, which has no triples yet."""
    return replace(graph, relations=_add_name(graph.relations, name, graph.name))


def add_entity(graph: Graph, name: str) -> Graph:
    """Return the graph with a new entity, which no triple mentions yet."""
    return replace(graph, entities=_add_name(graph.entities, name, graph.name))


def _add_name(vocabulary: Vocabulary, name: str, graph: str) -> Vocabulary:
    taken = vocabulary.find(name)
    if taken is not None:
        known = "" if vocabulary.has_name(name) else f" (it is the label of {vocabulary.name(taken)!r})"
        raise DataError(
            f"the {vocabulary.kind} {name!r} is in {graph} already{known}; choose another name, or train again with "
            "the new triples to teach it more"
        )
    return Vocabulary([*vocabulary.names, name], vocabulary.labels, vocabulary.kind)


def add_triples(graph: Graph, triples: list[NamedTriple], locate: Callable[[int], str], what: str) -> Graph:
    """Return the graph with these triples at the end of train, each once, and a note that says so.

    Args:
        graph: It has all their names.
        triples: Names or labels.
        locate: Names the place of a triple (numbered from 0) in messages.
        what: What is learned from them, for the note.
    """
    if not triples:
        raise DataError("there is no triple to learn from; give a handful")
    rows = resolve_triples(graph, triples, locate)
    _, first = np.unique(rows, axis=0, return_index=True)
    added = rows[np.sort(first)]
    count = f"{len(added):,} triple{'s' * (len(added) != 1)}"
    note = f"The {what} was learned from {count}; all else stayed as it was."
    return replace(graph, train=np.concatenate([graph.train, added]), notes=(*graph.notes, note))


@torch.no_grad()
def extend_model(model: Model, graph: Graph) -> Model:
    """Return a copy of the model with rows for all names of the graph; its own rows keep their bits."""
    device = next(model.parameters()).device
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        larger = type(model)(Sizes(len(graph.entities), len(graph.relations)), model.config)
    larger.to(device).eval()
    known = weights(model)
    for name, tensor in weights(larger).items():
        tensor[: len(known[name])] = known[name]
    return larger


def name_places(locate: Callable[[int], str] | None) -> Callable[[int], str]:
    """Return what names the place of a triple: as given, or "triple 1" and so on."""
    return locate or locate_triple


def complete_pairs(relation: str, triples: Iterable[GivenTriple], locate: Callable[[int], str]) -> list[NamedTriple]:
    """Return (head, tail) pairs, or triples that name the relation already, as triples of the relation."""
    found: list[NamedTriple] = []
    for row, names in enumerate(list_names(triples, locate, pairs=True)):
        if len(names) == 3 and not is_called(names[1], relation):
            raise DataError(f"{locate(row)}: its relation is {names[1]!r}, but {relation!r} is to be learned")
        found.append((names[0], relation, names[-1]))
    return found


def complete_mentions(entity: str, triples: Iterable[GivenTriple], locate: Callable[[int], str]) -> list[NamedTriple]:
    """Return triples with the entity, where they mention it, as it is called; each has to."""
    found: list[NamedTriple] = []
    for row, names in enumerate(list_names(triples, locate)):
        head, relation, tail = (entity if is_called(name, entity) else name for name in names)
        if entity not in (head, tail):
            raise DataError(f"{locate(row)}: does not mention {entity!r}; give triples with it as head or tail")
        found.append((head, relation, tail))
    return found


def is_called(given: Any, name: str) -> bool:
    """Return whether what was given is this name, blanks around it aside."""
    return isinstance(given, str) and given.strip() == name
