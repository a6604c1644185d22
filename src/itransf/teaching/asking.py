"""Changes by names and labels: what people ask for, turned into numbers, and told in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.errors import ConfigError, did_you_mean
from itransf.interpret.naming import call_concept
from itransf.models import SIDES, ITransF
from itransf.teaching.changing import Changes, NumberedPlace, carry_names, change_concepts

Place = tuple[str, str, int | str]
"""A relation's name or label, "head" or "tail", and a concept's number or the name it was given."""


@dataclass(frozen=True)
class ChangedRun:
    """What a run is made of after changes.

    Attributes:
        model: With the changes made; nothing is trained.
        graph: The same facts; its notes tell what was changed.
        names: What people call concepts, by their new numbers.
        numbers: What each old concept is numbered now; those that were pruned are not in it.
    """

    model: ITransF
    graph: Graph
    names: dict[int, str]
    numbers: dict[int, int]


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
        graph: Its training facts judge who takes a free place, its validation facts what a concept is worth.
        config: The run's settings.
        names: What people call concepts.
        forbid: Where which concept may not be used.
        pin: Where which concept is always in the support.
        merge: Pairs of concepts to make one.
        prune: How many to keep; zero keeps all.

    Raises:
        ConfigError: There is no such concept or side, or the changes contradict each other.
        DataError: There is no such relation.
    """
    changes = Changes(
        forbidden=[find_place(graph, names, place) for place in forbid],
        pinned=[find_place(graph, names, place) for place in pin],
        merged=[(find_concept(names, first), find_concept(names, second)) for first, second in merge],
        pruned=prune,
    )
    changed = change_concepts(model, graph, config, changes)
    notes = (*graph.notes, *describe_changes(changes, graph, names))
    carried = carry_names(names, changed.numbers)
    return ChangedRun(changed.model, replace(graph, notes=notes), carried, changed.numbers)


def find_place(graph: Graph, names: Mapping[int, str], place: Place) -> NumberedPlace:
    """Turn relation, side and concept into numbers."""
    if isinstance(place, str) or len(place) != 3:
        raise ConfigError(f"{place!r} is no place; give (relation, side, concept), such as ('borders', 'head', 3)")
    relation, side, concept = place
    for known in SIDES:
        if side == known:
            return graph.relations.index(relation), known, find_concept(names, concept)
    raise ConfigError(f"a relation has no side {side!r}; use 'head' or 'tail'.{did_you_mean(side, SIDES)}")


def find_concept(names: Mapping[int, str], concept: int | str) -> int:
    """Return a concept's number, told as it is or by the name a person gave."""
    if isinstance(concept, Integral) and not isinstance(concept, bool):
        return int(concept)
    if not isinstance(concept, str):
        raise ConfigError(f"{concept!r} is no concept; give its number or its name")
    if concept.strip().isdecimal():
        return int(concept)
    found = [number for number, name in names.items() if name == concept.strip()]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(map(str, found))
        raise ConfigError(f"{concept!r} is the name of concepts {listed}; give the number of one of them")
    raise ConfigError(f"{concept!r} is no concept's name; give its number.{did_you_mean(concept, names.values())}")


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
