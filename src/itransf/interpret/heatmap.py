"""The attention heat map: the rows and columns to show, in an order that groups what is similar, and its text form.

The picture (`plot`) and the page (`html`) draw the same arrangement.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.cells import cell_len

from itransf.data.known import Floats
from itransf.interpret.attention import Attention
from itransf.interpret.clustering import cosine_distance, order_leaves
from itransf.interpret.html import render
from itransf.interpret.naming import LETTERS, call_part

MOST_RELATIONS, MOST_CONCEPTS = 80, 300
"""Maximum numbers of relations and concepts in a picture: more cannot be read."""
TEXT_RELATIONS, TEXT_CONCEPTS = 40, 60
"""Maximum numbers of relations and concepts in a terminal."""
NEGLIGIBLE = 0.05
"""A concept is left out when all weights on it, as shares of the largest, stay below this."""
SHADES = "·░▒▓█"
_LONGEST = 28  # characters of a row's label in a terminal
_WIDE = 26  # columns up to which each takes two characters


@dataclass(frozen=True, eq=False)
class Arrangement:
    """A heat map ready to be drawn.

    Attributes:
        labels: Label of each row, such as "borders (H)", or "borders" where a relation has one part.
        concepts: Concept of each column.
        values: (rows, columns) weights.
        title: What is shown, and what is left out.
        free: Whether weights may have any size and sign.
        sides: Relation and part of each row.
        names: Names that were given to the concepts shown.
        antisymmetric: Concepts that are antisymmetric.
    """

    labels: tuple[str, ...]
    concepts: tuple[int, ...]
    values: Floats
    title: str
    free: bool
    sides: tuple[tuple[int, str], ...]
    names: Mapping[int, str]
    antisymmetric: frozenset[int] = frozenset()

    @property
    def signed(self) -> bool:
        """Whether weights are negative."""
        return bool((self.values < 0).any())

    @property
    def numbers(self) -> list[str]:
        """The numbers of the concepts, those of antisymmetric ones with an "a"."""
        return [f"{concept}{'a' * (concept in self.antisymmetric)}" for concept in self.concepts]

    @property
    def limit(self) -> float:
        """The weight of the darkest colour: one, or the largest absolute weight where weights are free."""
        if not self.free:
            return 1.0
        return float(np.abs(self.values).max(initial=0.0)) or 1.0


def arrange(
    attention: Attention,
    most_relations: int = MOST_RELATIONS,
    most_concepts: int = MOST_CONCEPTS,
    names: Mapping[int, str] | None = None,
) -> Arrangement:
    """Choose and order rows and columns so that rows which share concepts are next to each other.

    Args:
        attention: Attention of the relations to show.
        most_relations: Maximum number of relations, the most frequent first.
        most_concepts: Maximum number of concepts, those with most weight first.
        names: Names that were given to concepts.
    """
    shown = attention.find()[:most_relations]
    values = attention.weights[:, shown].astype(np.float64)  # (p, n, m)
    table = values.transpose(1, 0, 2).reshape(-1, values.shape[2])  # (n, p, m) -> (p n, m): head, tail, head, ...
    sizes = np.abs(table)
    used = np.flatnonzero(sizes.max(axis=0, initial=0.0) >= NEGLIGIBLE * (sizes.max(initial=0.0) or 1.0))
    kept = np.sort(used[np.argsort(-sizes.sum(axis=0)[used], kind="stable")][:most_concepts])
    table = table[:, kept]
    # Inverse relations share concepts, though the signs of antisymmetric ones differ.
    rows = order_leaves(cosine_distance(np.abs(table) if attention.symmetries else table))
    columns = order_columns(table[rows])
    sides = [(relation, part) for relation in shown for part in attention.parts]
    labels = [call_part(attention.relations.label(relation), part) for relation, part in sides]
    return Arrangement(
        tuple(labels[row] for row in rows),
        tuple(kept[columns].tolist()),
        table[np.ix_(rows, columns)],
        _write_title(attention, len(shown), len(used), len(kept)),
        attention.kind in ("l1", "signed"),
        tuple(sides[row] for row in rows),
        {concept: name for concept, name in (names or {}).items() if concept in kept},
        attention.antisymmetric,
    )


def _write_title(attention: Attention, shown: int, used: int, kept: int) -> str:
    """Return what is shown and what is left out."""
    relations, columns = len(attention.relations), attention.weights.shape[2]
    rows = f"{shown} relation{'s' * (shown != 1)}"
    if shown < relations:
        rows = f"the {shown} most frequent of {relations:,} relations"
    if kept < used:
        return f"Attention of {rows} over the {kept} most used of {columns:,} concepts"
    rest = f" ({columns - used} hardly used by them)" if columns > used else ""
    return f"Attention of {rows} over {used} of {columns} concepts{rest}"


def order_columns(rows: Floats) -> list[int]:
    """Return an order of the columns that follows the rows: by the mean position of a column's weight."""
    weights = np.abs(rows)
    totals = weights.sum(axis=0)
    places = np.arange(len(rows)) @ weights / np.where(totals == 0, 1.0, totals)
    order: list[int] = np.argsort(np.where(totals == 0, np.inf, places), kind="stable").tolist()
    return order


def format_heatmap(attention: Attention, names: Mapping[int, str] | None = None) -> str:
    """Return a heat map in block characters, with rows and columns as in the picture.

    A weight is one of five shades; negative weights have a minus before them, and antisymmetric concepts an "a" below
    their number. Names that were given to concepts are listed below.
    """
    arrangement = arrange(attention, TEXT_RELATIONS, TEXT_CONCEPTS, names)
    step = 2 if len(arrangement.concepts) <= _WIDE or arrangement.free else 1
    labels = [shorten(label, _LONGEST) for label in arrangement.labels]
    margin = max(cell_len(label) for label in ["concept", *labels])
    lines = [arrangement.title, "", *_write_numbers(arrangement, margin, step)]
    for label, cells in zip(labels, _shade(arrangement, step), strict=True):
        lines.append(f"{' ' * (margin - cell_len(label))}{label} {cells}")
    ends = [f"{shade} to {arrangement.limit * (place + 1) / 4:.2g}" for place, shade in enumerate(SHADES[1:])]
    letters = [f"({LETTERS[part]}) {part}" for part in attention.parts if part in LETTERS]
    letters += ["a antisymmetric"] if arrangement.antisymmetric else []
    scale = "  ".join([f"{SHADES[0]} none", *ends, *letters])
    named = [
        f"{concept} {arrangement.names[concept]}" for concept in arrangement.concepts if concept in arrangement.names
    ]
    return "\n".join([*lines, "", scale, *([f"Concepts: {', '.join(named)}"] if named else [])]) + "\n"


def _write_numbers(arrangement: Arrangement, margin: int, step: int) -> list[str]:
    """Return the concepts' numbers, written downwards, and the marks of antisymmetric ones."""
    width = max((len(str(concept)) for concept in arrangement.concepts), default=0)
    # An "a" makes a number one place longer, which is the line below the digits.
    longer = [" " * (width - len(str(concept))) for concept in arrangement.concepts]
    padded = [space + number for space, number in zip(longer, arrangement.numbers, strict=True)]
    lines = range(width + bool(arrangement.antisymmetric))
    places = ["".join(f"{number[line : line + 1]:>{step}}" for number in padded) for line in lines]
    words = ["concept", *[""] * width]
    return [f"{word:>{margin}} {line}".rstrip() for word, line in zip(words, places, strict=False)]


def _shade(arrangement: Arrangement, step: int) -> list[str]:
    """Return the cells of each row."""
    shares = np.abs(arrangement.values) / arrangement.limit
    quarters = np.clip(np.ceil(shares * 4), 1, 4).astype(np.int64)
    shades = np.where(shares < NEGLIGIBLE, 0, quarters)
    signs = np.where((arrangement.values < 0) & (shades > 0), "-", " " * (step - 1))
    cells = np.char.add(signs, np.array(list(SHADES))[shades])
    return ["".join(row) for row in cells.tolist()]


def shorten(label: str, longest: int) -> str:
    """Return a label without its middle where it is too long; the side at its end stays."""
    if len(label) <= longest:
        return label
    end = longest * 2 // 3
    return f"{label[: longest - end - 1]}…{label[-end:]}"


MOST_CELLS = 60_000
"""Maximum number of weights on a page: of a large dense model only the most frequent relations are shown."""
PAGE_CONCEPTS = 1000
SPARSE = ("sparse", "signed")
"""Kinds of attention of which every weight is shown."""


def make_heatmap_page(attention: Attention, names: Mapping[int, str] | None = None) -> str:
    """Return a page with the heat map alone.

    Args:
        attention: Attention of all relations, or of those chosen by `Attention.choose`.
        names: Names that were given to concepts.
    """
    data = collect_heatmap(attention, names or {}, {})
    return render("heatmap.html", title="Attention over concepts", data=data, scripts=("tables.js", "heatmap.js"))


def collect_heatmap(attention: Attention, names: Mapping[int, str], suggestions: Mapping[int, str]) -> dict[str, Any]:
    """Return relations by frequency, rows by similarity, and the weights of a row as column, weight, ...

    Args:
        attention: Attention of the relations.
        names: Names that were given to concepts.
        suggestions: Names to show for the others.
    """
    arrangement = arrange(attention, count_relations(attention), PAGE_CONCEPTS, names)
    order = sorted({relation for relation, _ in arrangement.sides}, key=attention.find().index)
    places = {relation: place for place, relation in enumerate(order)}
    shown = arrangement.values != 0
    if attention.kind not in SPARSE:
        shown = np.abs(arrangement.values) >= NEGLIGIBLE * arrangement.limit
    rows = []
    for (relation, side), values, marks in zip(arrangement.sides, arrangement.values, shown, strict=True):
        weights = [(column, round(float(values[column]), 4)) for column in np.flatnonzero(marks).tolist()]
        rows.append([places[relation], attention.parts.index(side), [number for pair in weights for number in pair]])
    vocabulary = attention.relations
    return {
        "title": arrangement.title,
        "signed": arrangement.signed,
        "limit": round(arrangement.limit, 6),
        "parts": attention.parts,
        "antisymmetric": [each in arrangement.antisymmetric for each in arrangement.concepts],
        "concepts": [[each, names.get(each, ""), suggestions.get(each, "")] for each in arrangement.concepts],
        "relations": [[vocabulary.label(each), vocabulary.name(each), int(attention.counts[each])] for each in order],
        "rows": rows,
    }


def count_relations(attention: Attention, most_cells: int = MOST_CELLS) -> int:
    """Return how many of the most frequent relations have at most `most_cells` weights together."""
    largest = np.abs(attention.weights).max(initial=0.0)
    least = 0.0 if attention.kind in SPARSE else NEGLIGIBLE * largest
    cells = (np.abs(attention.weights) > least).sum(axis=(0, 2))[attention.find()]  # (r,) most frequent first
    return max(1, int((np.cumsum(cells) <= most_cells).sum()))
