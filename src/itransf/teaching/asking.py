"""Changes by names and labels: what people ask for, turned into numbers, and told in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass, replace
from typing import Any

import torch

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import ConfigError, check_count
from itransf.interpret.attention import check_side
from itransf.interpret.naming import call_concept, find_concept
from itransf.models import ITransF
from itransf.teaching.changing import Changes, NumberedPlace, carry_names, change_concepts

Place = tuple[str, str, int | str]
"""A relation's name or label, "head" or "tail", and a concept's number or the name it was given."""


@dataclass(frozen=True)
class ChangedRun:
    """What a run is made of after changes.

    Attributes:
        model: With the changes made; nothing is trained.
        graph: The same triples; its notes tell what was changed.
        names: What people call concepts, by their new numbers.
        numbers: What each old concept is numbered now; those that were pruned are not in it.
    """

    model: ITransF
    graph: Graph
    names: dict[int, str]
    numbers: dict[int, int]


@torch.inference_mode(mode=False)
def change_run(
    model: ITransF,
    graph: Graph,
    config: Config,
    names: Mapping[int, str],
    *,
    forbid: Iterable[Place] = (),
    pin: Iterable[Place] = (),
    merge: Iterable[tuple[int | str, int | str]] = (),
    prune: int = 0,
) -> ChangedRun:
    """Change concepts as asked.

    Args:
        model: It stays as it is.
        graph: Its training triples judge who takes a free place, its validation triples what a concept is worth.
        config: The run's settings.
        names: What people call concepts.
        forbid: Where which concept may not be used.
        pin: Where which concept is always in the support.
        merge: Pairs of concepts to make one.
        prune: How many to keep; zero keeps all.

    Raises:
        ConfigError: There is no such concept or side, the changes contradict each other, or something is no change.
        DataError: There is no such relation.
    """
    changes = Changes(
        forbidden=[find_place(graph, names, place) for place in list_changes("forbid", forbid)],
        pinned=[find_place(graph, names, place) for place in list_changes("pin", pin)],
        merged=[find_pair(names, pair) for pair in list_changes("merge", merge)],
        pruned=check_count("prune", prune),
    )
    changed = change_concepts(model, graph, config, changes)
    notes = (*graph.notes, *describe_changes(changes, graph, names))
    carried = carry_names(names, changed.numbers)
    return ChangedRun(changed.model, replace(graph, notes=notes), carried, changed.numbers)


def find_place(graph: Graph, names: Mapping[int, str], place: Place) -> NumberedPlace:
    """Turn relation, side and concept into numbers."""
    if not has_parts(place, 3):
        raise ConfigError(f"{place!r} is no place; give (relation, side, concept), such as ('borders', 'head', 3)")
    relation, side, concept = place
    known = check_side(side)
    return graph.relations.index(relation), known, find_concept(names, concept)


def find_pair(names: Mapping[int, str], pair: tuple[int | str, int | str]) -> tuple[int, int]:
    """Turn two concepts into numbers."""
    if not has_parts(pair, 2):
        raise ConfigError(f"{pair!r} is no pair of concepts; give a list of (concept, concept), such as [(4, 9)]")
    first, second = pair
    return find_concept(names, first), find_concept(names, second)


def has_parts(given: object, count: int) -> bool:
    """Return whether this has so many parts, and is no text."""
    return isinstance(given, Sized) and not isinstance(given, str) and len(given) == count


def list_changes(name: str, given: Iterable[Any]) -> list[Any]:
    """Return the changes of one kind as a list."""
    if not isinstance(given, Iterable):
        raise ConfigError(f"{name} must be a list, not {given!r}")
    return list(given)


def describe_changes(changes: Changes, graph: Graph, names: Mapping[int, str]) -> list[str]:
    """Say what was changed, a sentence each; concepts have their old numbers."""
    told = []
    for verb, places in (("forbidden", changes.forbidden), ("pinned", changes.pinned)):
        for relation, side, concept in places:
            label = graph.relations.label(relation)
            told.append(f"{call_concept(concept, names)} was {verb} to the {side}s of {label}.")
    for first, second in changes.merged:
        told.append(f"{call_concept(second, names)} was merged into {call_concept(first, names)}.")
    if changes.pruned:
        told.append(f"The concepts were pruned to {changes.pruned}.")
    return [sentence[0].upper() + sentence[1:] for sentence in told]
