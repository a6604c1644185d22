"""Examples for a report: triples the model never saw, where it ranks them, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from itransf.data.graph import Graph
from itransf.evaluation import Ranks
from itransf.interpret.explaining import explain
from itransf.interpret.explanations import Contribution, Explanation
from itransf.interpret.naming import call_concept
from itransf.models import SIDES, Model

HITS, MISSES = 6, 2
"""How many triples the model finds, and how many it misses, are told."""
_MISSED = 10  # a rank beyond which a triple counts as missed
_PARTS = 5  # told of each split, those that decide most


@dataclass(frozen=True)
class Example:
    """One triple, told.

    Attributes:
        sentence: What a reader is told first.
        columns: The headings of the table below it.
        rows: Its rows.
        missed: Whether the model gets it wrong.
    """

    sentence: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    missed: bool = False


def choose_triples(ranks: Ranks, hits: int = HITS, misses: int = MISSES) -> list[tuple[int, bool]]:
    """Return rows of ranked triples, found ones then missed ones, no relation and no entity twice among each.

    Args:
        ranks: Of the triples to choose from.
        hits: How many triples the model ranks first.
        misses: How many triples it ranks beyond the tenth place.

    Returns:
        The row of each triple, and whether it is missed.
    """
    tails, both = ranks.ranks("tail"), sum(ranks.ranks(side) for side in SIDES)
    order = np.argsort(both, kind="stable")
    found = _choose_diverse(ranks, order[tails[order] <= 1.0].tolist(), hits)
    missed = _choose_diverse(ranks, order[tails[order] > _MISSED].tolist(), misses)
    return [*((row, False) for row in found), *((row, True) for row in missed)]


def _choose_diverse(ranks: Ranks, rows: list[int], count: int) -> list[int]:
    """Return the first rows that repeat no relation and no entity."""
    chosen: list[int] = []
    relations, entities = set[int](), set[int]()
    for row in rows:
        head, relation, tail = ranks.triples[row].tolist()
        if len(chosen) < count and relation not in relations and not {head, tail} & entities:
            chosen.append(row)
            relations.add(relation)
            entities |= {head, tail}
    return chosen


def tell_triples(
    model: Model, graph: Graph, ranks: Ranks, names: Mapping[int, str], suggestions: Mapping[int, str]
) -> list[Example]:
    """Return an example for each chosen triple: its explanation, and the split of its score behind it.

    Args:
        model: What scores.
        graph: The names and the known triples.
        ranks: Of the triples to choose from.
        names: What people call concepts.
        suggestions: What to call the others in tables; a sentence would grow too long by them.
    """
    told = []
    for row, missed in choose_triples(ranks):
        head, relation, tail = ranks.triples[row].tolist()
        triple = (graph.entities.name(head), graph.relations.name(relation), graph.entities.name(tail))
        found = explain(model, graph, *triple, removals=False, names=names)
        columns, rows = tabulate_contrast(found, {**suggestions, **names})
        told.append(Example(found.sentence, columns, rows, missed))
    return told


def tabulate_contrast(
    found: Explanation, names: Mapping[int, str]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return headings and rows: what each part adds to the distance of the answer and of the runner-up."""
    rival = found.runner_up
    if rival is None:
        return (), ()
    parts = sorted(found.contributions, key=lambda part: -abs(part.favour or 0.0))
    figures = np.array([[part.value, part.rival or 0.0, part.favour or 0.0] for part in parts])
    rows = [(*_name_part(part, names), *_format(line)) for part, line in zip(parts[:_PARTS], figures, strict=False)]
    if len(parts) > _PARTS:
        rows.append((f"{len(parts) - _PARTS} more", "", *_format(figures[_PARTS:].sum(axis=0))))
    rows.append(("sum", "", *_format([found.distance, rival.distance, rival.distance - found.distance])))
    return ("Part", "Weight", found.answer, rival.label, "Difference"), tuple(rows)


def _name_part(part: Contribution, names: Mapping[int, str]) -> tuple[str, str]:
    if part.concept is None:
        return ("translation" if part.side == "translation" else f"{part.side} as it is"), ""
    weight = "" if part.weight is None else f"{part.weight:.2f}"
    return f"{part.side}: {call_concept(part.concept, names)}", weight


def _format(values: Iterable[float]) -> list[str]:
    return [f"{value:+.2f}" for value in values]
