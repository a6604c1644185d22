"""Figure 3: which concepts the two sides of relations use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from itransf.data.vocabulary import Vocabulary
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.measuring import unpack_attention
from itransf.experiments.reproduction.results import Record, Results
from itransf.experiments.reproduction.sections import MISSING, Picture, Section, Table, make_table
from itransf.experiments.reproduction.stage import Stage
from itransf.experiments.reproduction.stages.main import DATASETS, make_row
from itransf.interpret import Attention
from itransf.interpret.heatmap import USUAL, Words, arrange
from itransf.interpret.plot import draw
from itransf.models import SIDES, Side

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = {"wn18": 18, "fb15k": 10}
"""The most relations a figure shows: those the paper names, then the most frequent."""
COLUMNS = ("Graph", "The paper sees", "Sides", "Overlap", "Of all sides", "Seeds with more", "Concepts in common")
METHOD = (
    "The *overlap* of two sides is the share of attention that both give to the same concepts, the sum of the smaller "
    "of the two weights over all concepts: 1 where they are identical, 0 where they share nothing. Its median over "
    "seeds stands first, the extremes in brackets; beside it is its mean over all pairs of sides in the graph, and in "
    "how many seeds the two sides share more than such a pair. Concepts in common, and the pictures, are of seed 0."
)
CAPTION = "what the heads (H) and tails (T) of relations attend to; each row is a side."
SHORT = {
    "/award/award_winner/awards_won./award/award_honor/honored_for": "won_award_for",
    "/award/award_winning_work/awards_won./award/award_honor/award_winner": "award_winning_work",
    "/award/award_nominee/award_nominations./award/award_nomination/nominated_for": "was_nominated_for",
    "/people/person/spouse_s./people/marriage/spouse": "spouse",
}
"""What the paper calls relations of FB15k, as far as can be told."""
End = tuple[str, Side]


@dataclass(frozen=True)
class Statement:
    """What the paper sees in its figure: two sides of relations that have concepts in common."""

    dataset: str
    text: str
    first: End
    second: End

    @property
    def ends(self) -> tuple[End, End]:
        """Both sides."""
        return self.first, self.second

    def overlap(self, attention: Attention) -> float:
        """Return how much attention both sides give to the same concepts."""
        first, second = (read_side(attention, *end) for end in self.ends)
        return float(np.minimum(first, second).sum())


INVERSE = "heads of a relation use what tails of its inverse use"
SYMMETRIC = "the two sides of a symmetric relation are identical"
EMPHASIS = "the same concepts with another emphasis"
STATEMENTS = (
    Statement("wn18", INVERSE, ("_hypernym", "head"), ("_hyponym", "tail")),
    Statement("wn18", INVERSE, ("_hyponym", "head"), ("_hypernym", "tail")),
    Statement("wn18", "a concept in common", ("_instance_hypernym", "tail"), ("_hypernym", "tail")),
    Statement("wn18", SYMMETRIC, ("_similar_to", "head"), ("_similar_to", "tail")),
    Statement("fb15k", INVERSE, ("won_award_for", "head"), ("award_winning_work", "tail")),
    Statement("fb15k", INVERSE, ("award_winning_work", "head"), ("won_award_for", "tail")),
    Statement("fb15k", EMPHASIS, ("won_award_for", "head"), ("was_nominated_for", "head")),
    Statement("fb15k", EMPHASIS, ("won_award_for", "tail"), ("was_nominated_for", "tail")),
    Statement("fb15k", SYMMETRIC, ("spouse", "head"), ("spouse", "tail")),
)


def list_jobs(scope: Scope) -> list[Job]:
    """Return what the figure needs: a row of the main table."""
    return [make_row(scope, dataset, "itransf") for dataset in DATASETS]


def render(results: Results, scope: Scope) -> Section:
    """Return a heat map of each graph and, of the published ones, what the paper sees there."""
    found = {dataset: find_attention(results, scope, dataset) for dataset in DATASETS}
    parts: list[str | Table | Picture] = []
    for dataset, attention in found.items():
        if attention:
            parts.append(picture_attention(attention[0], "attention", CAPTION, scope, dataset))
    if not scope.quick:
        rows = [write_statement(statement, found[statement.dataset], scope) for statement in STATEMENTS]
        parts += [METHOD, make_table(COLUMNS, rows, names=3)]
    return Section("Attention (Figure 3)", tuple(parts) or (MISSING,))


def find_attention(results: Results, scope: Scope, dataset: str) -> list[Attention]:
    """Return the attention of ITransF on a graph, of each seed that is stored."""
    return read_all(results.find_seeds(make_row(scope, dataset, "itransf")))


def read_stored(records: Sequence[Record]) -> Attention | None:
    """Return the attention of the first result that has one."""
    return next(iter(read_all(records)), None)


def read_all(records: Sequence[Record]) -> list[Attention]:
    """Return the attention of each result that has one, relations called as the paper calls them."""
    return [_unpack(record["attention"]) for record in records if record["attention"]]


def _unpack(packed: dict[str, Any]) -> Attention:
    attention = unpack_attention(packed)
    names = attention.relations.names
    labels = {name: SHORT.get(name, name.strip("_")) for name in names}
    return replace(attention, relations=Vocabulary(names, labels, kind="relation"))


def picture_attention(
    attention: Attention, name: str, caption: str, scope: Scope, dataset: str, words: Words = USUAL
) -> Picture:
    """Return the heat map of a graph: of the relations the paper names, then of the most frequent."""
    left_out = len(attention.relations) - SHOWN[dataset]
    rest = f" {left_out:,} further relations are left out." if left_out > 0 else ""
    told = f"{scope.title(dataset)}: {caption}{rest}"
    return Picture(f"{name}-{scope.data(dataset)}", told, partial(draw_attention, attention, SHOWN[dataset], words))


def draw_attention(attention: Attention, most: int, words: Words = USUAL) -> Figure:
    """Return the heat map of so many relations."""
    return draw(arrange(attention.choose(choose_shown(attention, most)), words=words))


def choose_shown(attention: Attention, most: int) -> list[str]:
    """Return the relations to show: those with a short name, then the most frequent."""
    frequent = [attention.relations.name(number) for number in attention.find()]
    named = [name for name in frequent if name in SHORT]
    return [*named, *(name for name in frequent if name not in named)][:most]


def write_statement(statement: Statement, seeds: Sequence[Attention], scope: Scope) -> tuple[str, ...]:
    """Return the row of a statement."""
    names = " and ".join(f"{name.strip('_')} ({side[0].upper()})" for name, side in statement.ends)
    told = (scope.title(statement.dataset), statement.text, names)
    if not seeds:
        return (*told, MISSING, "–", "–", "–")
    overlaps, others = ([find(attention) for attention in seeds] for find in (statement.overlap, average_overlap))
    more = sum(ours > usual for ours, usual in zip(overlaps, others, strict=True))
    first, second = (read_side(seeds[0], *end) for end in statement.ends)
    common = int(((first != 0) & (second != 0)).sum())
    most = max(int((weights != 0).sum()) for weights in (first, second))
    shown = (write_spread(overlaps), f"{median(others):.2f}", f"{more} of {len(seeds)}", f"{common} of {most}")
    return (*told, *shown)


def write_spread(values: Sequence[float]) -> str:
    """Return the median, and the extremes where there are several values."""
    return f"{median(values):.2f}" + (f" ({min(values):.2f}–{max(values):.2f})" if len(values) > 1 else "")


def read_side(attention: Attention, name: str, side: Side) -> npt.NDArray[np.float32]:
    """Return the weights of a side of a relation, given by its name or by what the paper calls it, (m,)."""
    full = {short: long for long, short in SHORT.items()}.get(name, name)
    weights: npt.NDArray[np.float32] = attention.weights[SIDES.index(side), attention.relations.index(full)]
    return weights


def average_overlap(attention: Attention) -> float:
    """Return the mean overlap over all pairs of sides."""
    table: npt.NDArray[np.float64] = np.sort(attention.weights.reshape(-1, attention.weights.shape[2]), axis=0)
    n = len(table)
    # Of a concept's weights in ascending order, each is the smaller one of as many pairs as weights follow it.
    pairs = np.arange(n - 1, -1, -1)
    return float((pairs @ table).sum() / (n * (n - 1) / 2))


ATTENTION = Stage("attention", "Figure 3", list_jobs, render)
