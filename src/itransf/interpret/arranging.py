"""Arranging an attention table for the eye: which rows and columns, in which order, under which title."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from itransf.interpret.attention import Attention
from itransf.interpret.naming import LETTERS
from itransf.interpret.ordering import order_columns, order_rows
from itransf.models import SIDES, Side

MOST_RELATIONS = 80
"""The most relations a heat map shows: beyond that the rows cannot be read."""
MOST_CONCEPTS = 300
"""The most concepts a heat map shows."""

NEGLIGIBLE = 0.05
"""A concept is left out when all weights on it, as shares of the largest, stay below this."""


class Words(NamedTuple):
    """What the weights are called in a title, what a column is, and what the colours stand for."""

    weights: str = "Attention"
    column: str = "concept"
    colours: str = "weight"


USUAL = Words()


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A table ready to be drawn.

    Attributes:
        labels: One per row, such as "borders (H)".
        concepts: One number per column.
        values: (rows, columns) weights.
        title: What is shown, and what is left out.
        signed: Whether weights below zero may occur.
        sides: The relation's number and the side of each row.
        names: What people call the concepts that have a name.
        words: What all this is called.
    """

    labels: tuple[str, ...]
    concepts: tuple[int, ...]
    values: npt.NDArray[np.float64]
    title: str
    signed: bool
    sides: tuple[tuple[int, Side], ...]
    names: Mapping[int, str]
    words: Words = USUAL

    @property
    def limit(self) -> float:
        """The weight that is drawn darkest: one, or for signed weights the largest size that occurs."""
        if not self.signed:
            return 1.0
        return float(np.abs(self.values).max(initial=0.0)) or 1.0


def arrange(
    attention: Attention,
    most_relations: int = MOST_RELATIONS,
    most_concepts: int = MOST_CONCEPTS,
    names: Mapping[int, str] | None = None,
    words: Words = USUAL,
) -> Arrangement:
    """Choose and order rows and columns so that sides which share concepts stand together.

    Args:
        attention: Of the relations to show.
        most_relations: Beyond so many only the most frequent are shown.
        most_concepts: Beyond so many only those with most weight are shown.
        names: What people call some of the concepts.
        words: What all this is called.
    """
    shown = attention.find()[:most_relations]
    values = attention.weights[:, shown].astype(np.float64)  # (2, n, m)
    table = values.transpose(1, 0, 2).reshape(-1, values.shape[2])  # (n, 2, m) -> (2 n, m): head, tail, head, ...
    sizes = np.abs(table)
    used = np.flatnonzero(sizes.max(axis=0, initial=0.0) >= NEGLIGIBLE * (sizes.max(initial=0.0) or 1.0))
    kept = np.sort(used[np.argsort(-sizes.sum(axis=0)[used], kind="stable")][:most_concepts])
    table = table[:, kept]
    rows = order_rows(table)
    columns = order_columns(table[rows])
    sides = [(relation, side) for relation in shown for side in SIDES]
    labels = [f"{attention.relations.label(relation)} ({LETTERS[side]})" for relation, side in sides]
    return Arrangement(
        tuple(labels[row] for row in rows),
        tuple(kept[columns].tolist()),
        table[np.ix_(rows, columns)],
        _write_title(attention, len(shown), len(used), len(kept), words),
        attention.kind == "l1",
        tuple(sides[row] for row in rows),
        {concept: name for concept, name in (names or {}).items() if concept in kept},
        words,
    )


def _write_title(attention: Attention, shown: int, used: int, kept: int, words: Words) -> str:
    """Say what is shown and what is left out."""
    relations, columns = len(attention.relations), attention.weights.shape[2]
    weights, concepts = words.weights, f"{words.column}s"
    rows = f"{shown} relation{'s' * (shown != 1)}"
    if shown < relations:
        rows = f"the {shown} most frequent of {relations:,} relations"
    if kept < used:
        return f"{weights} of {rows} over the {kept} most used of {columns:,} {concepts}"
    rest = f" ({columns - used} hardly used by them)" if columns > used else ""
    return f"{weights} of {rows} over {used} of {columns} {concepts}{rest}"
