"""The report page: key numbers, metrics by group, and the curves of training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from itransf.evaluation import METRICS as EVALUATED
from itransf.interpret.attention import Attention
from itransf.interpret.html import METRICS, format_metric

ABOUT = {
    "sparse attention": "Relation sides that use at most k concepts, with weights that sum to one.",
    "inverse pairs": "Pairs of relations with each other's triples reversed: is the head attention of one most similar "
    "to the tail attention of the other? 1 if these pairs rank before all others.",
    "symmetric relations": "Relations whose triples hold in both directions: are their head and tail attention the "
    "most similar? 1 if they all rank before the others, 0.5 is chance.",
    "domains by top concept": "Do relation sides with the same heaviest concept come from the same domain, the first "
    "part of a name such as /film/film/genre?",
}
"""A sentence on each measure of a report."""
ABOUT_SUMS = {
    "sparse attention": "Relations that use at most k concepts.",
    "inverse pairs": "Pairs of relations with each other's triples reversed: do they use the same concepts, with "
    "opposite signs of the antisymmetric ones? 1 if these pairs rank before all others.",
    "symmetric relations": "Relations whose triples hold in both directions: do they use symmetric concepts most? "
    "1 if they all rank before the others, 0.5 is chance.",
    "domains by top concept": "Do relations with the same heaviest concept come from the same domain, the first part "
    "of a name such as /film/film/genre?",
}
"""The same where a relation is a signed sum of concepts."""
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 360, 220, 50, 16, 28, 38  # of a chart of training, and its margins
_DOTS = 60  # most values that are drawn as dots, too


def list_tiles(
    info: Mapping[str, Any], evaluation: Mapping[str, Any] | None, attention: Attention | None
) -> list[tuple[str, str]]:
    """Return the key numbers, each with what it counts."""
    triples, tiles = info["triples"], []
    if evaluation is not None:
        both, split = evaluation["filtered"]["both"], evaluation["split"]
        shown = (name for name in METRICS if name != "Hits@3")
        tiles += [(f"{name} on {split}", format_metric(both[METRICS[name]], name)) for name in shown]
    tiles += [(name, f"{info[name]:,}") for name in ("entities", "relations")]
    tiles.append((f"training triples, {triples['valid']:,} valid, {triples['test']:,} test", f"{triples['train']:,}"))
    if attention is not None:
        tiles.append(("concepts used", f"{int(attention.used.sum())} of {attention.weights.shape[2]}"))
    return tiles


def list_buckets(evaluation: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the metrics of each frequency bucket with its bounds."""
    buckets = [bucket for bucket in evaluation["buckets"] if bucket["relations"]]
    bounds = [(*bucket["train_triples"], bucket["relations"]) for bucket in buckets]
    labels = [f"{low:,} to {high:,} ({relations:,} relations)" for low, high, relations in bounds]
    return list(zip(labels, buckets, strict=True))


def list_categories(evaluation: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the metrics of each mapping category that was ranked."""
    return [(entry["category"], entry["both"]) for entry in evaluation["categories"] if entry["both"]["queries"]]


def draw_training(history: Sequence[Mapping[str, Any]], metric: str) -> list[dict[str, Any]]:
    """Return charts of the loss and of the validation metric over the epochs of all phases; none of a single value."""
    title, unit = EVALUATED[metric], 100.0 if metric.startswith("hits") else 1.0
    phases = [line["phase"] for line in history]
    breaks = [place for place in range(1, len(phases)) if phases[place] != phases[place - 1]]
    charts = []
    for key, name, scale in (("loss", "Mean loss", 1.0), ("metric", f"{title} on valid{', %' * (unit > 1)}", unit)):
        points = [(epoch, scale * line[key]) for epoch, line in enumerate(history, 1) if line.get(key) is not None]
        if len(points) > 1:
            charts.append(draw_chart(name, points, len(history), breaks))
    return charts


def draw_chart(title: str, points: Sequence[tuple[int, float]], last: int, breaks: Sequence[int]) -> dict[str, Any]:
    """Return a line chart over epochs with its axes, as text for an SVG.

    Args:
        title: What the values are.
        points: Epochs and values.
        last: Last epoch of the axis.
        breaks: Last epoch of each phase but the last.
    """
    values = [value for _, value in points]
    marks, epochs = choose_ticks(min(values), max(values)), choose_ticks(0, last, whole=True)
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    span, decimals = marks[-1] - marks[0], max(-math.floor(math.log10(marks[1] - marks[0]) + 1e-9), 0)
    across = [
        f"{_LEFT + width * epoch / epochs[-1]:.1f}" for epoch in (*epochs, *breaks, *(each for each, _ in points))
    ]
    up = [f"{_TOP + height * (marks[-1] - value) / span:.1f}" for value in (*marks, *values)]
    places = list(zip(across[-len(points) :], up[len(marks) :], strict=True))
    return {
        "title": title,
        "size": (_WIDTH, _HEIGHT),
        "box": (_LEFT, _TOP, _WIDTH - _RIGHT, _HEIGHT - _BOTTOM),
        "rows": list(zip(up, (f"{mark:,.{decimals}f}" for mark in marks), strict=False)),
        "columns": list(zip(across, (f"{epoch:,.0f}" for epoch in epochs), strict=False)),
        "breaks": across[len(epochs) : -len(points)],
        "line": "M" + "L".join(f"{x} {y}" for x, y in places),
        "dots": "".join(f"M{x} {y}h0" for x, y in places if len(places) <= _DOTS),
    }


def choose_ticks(low: float, high: float, most: int = 5, whole: bool = False) -> list[float]:
    """Return round numbers at equal distances, from one that is not above `low` to one that is not below `high`.

    Args:
        low: Least value.
        high: Largest value.
        most: Steps between them at most.
        whole: Whether only whole numbers are meant.
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(power * factor for factor in (1, 2, 5, 10) if span <= most * power * factor * (1 + 1e-9))
    step = max(step, 1.0) if whole else step
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]
