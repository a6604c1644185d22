"""Figures of a run: key numbers, tables of metrics, the curve of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from itransf.interpret.pages.markup import Markup, element
from itransf.interpret.pages.relation_table import make_cell, make_number, make_table

METRICS = {"MRR": "mrr", "Hits@1": "hits@1", "Hits@3": "hits@3", "Hits@10": "hits@10", "MR": "mr"}
_WIDTH, _HEIGHT, _EDGE = 560, 170, 26


def show_tiles(tiles: Sequence[tuple[str, str]]) -> Markup:
    """Return key numbers, each with what it counts."""
    return element(
        "div",
        *(element("div", element("b", value), element("span", name), class_="tile") for name, value in tiles),
        class_="tiles",
    )


def format_metric(name: str, value: float | None) -> str:
    """Return a metric as people write it: Hits in percent, MR with one decimal, MRR with three."""
    if value is None:
        return "–"
    return f"{value:.1%}" if name.startswith("Hits") else f"{value:,.1f}" if name == "MR" else f"{value:.3f}"


def show_metrics(evaluation: Mapping[str, Any]) -> Markup:
    """Return the tables of an evaluation: by side, by frequency, by mapping category."""
    sides = {"heads and tails": "both", "heads": "head", "tails": "tail"}
    overall = [(name, evaluation["filtered"][key]) for name, key in sides.items()]
    buckets = [
        (
            f"{bucket['train_triples'][0]:,} to {bucket['train_triples'][1]:,} ({bucket['relations']:,} relations)",
            bucket,
        )
        for bucket in evaluation["buckets"]
        if bucket["relations"]
    ]
    categories = [(entry["category"], entry["both"]) for entry in evaluation["categories"] if entry["both"]["queries"]]
    return element(
        "div",
        _tabulate("metrics-sides", "Asked for", overall),
        element("h3", "By how frequent relations are (each relation counts the same)"),
        _tabulate("metrics-frequency", "Training triples", buckets),
        element("h3", "By mapping category"),
        _tabulate("metrics-categories", "Mapping", categories),
        class_="panel",
    )


def _tabulate(name: str, title: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Markup:
    columns = [(title, False), *((metric, True) for metric in METRICS), ("Queries", True)]
    cells = [
        [
            make_cell(label),
            *(make_number(figures[key], format_metric(metric, figures[key])) for metric, key in METRICS.items()),
            make_number(figures["queries"], f"{figures['queries']:,}"),
        ]
        for label, figures in rows
    ]
    return make_table(name, columns, cells, live=False)


def draw_training(history: Sequence[Mapping[str, Any]], metric: str) -> Markup | None:
    """Return the curves of loss and of what was validated, each on a scale of its own; None with nothing to draw."""
    lines = [line for line in history if line.get("phase") == "training"]
    losses = [(line["epoch"], line["loss"]) for line in lines if line.get("loss") is not None]
    looks = [(line["epoch"], line["metric"]) for line in lines if line.get("metric") is not None]
    if len(losses) < 2:
        return None
    last = max(epoch for epoch, _ in losses)
    drawn = [_draw_curve(losses, last, "var(--soft)"), _draw_curve(looks, last, "var(--accent)") if looks else None]
    told = f"loss {losses[0][1]:.3g} → {losses[-1][1]:.3g} over {last:,} epochs"
    watched = f"validation {metric}, best {_best(looks, metric):.3g}" if looks else None
    return element(
        "svg",
        element("path", d=f"M{_EDGE} {_HEIGHT - _EDGE}H{_WIDTH}", stroke="var(--line)"),
        *drawn,
        element("text", told, x=_EDGE, y=_HEIGHT - 6),
        element("text", watched, x=_WIDTH, y=_HEIGHT - 6, text_anchor="end", style="fill:var(--accent)")
        if watched
        else None,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        class_="curve",
        role="img",
        aria_label=told,
    )


def _best(looks: Sequence[tuple[int, float]], metric: str) -> float:
    values = [value for _, value in looks]
    return min(values) if metric == "mr" else max(values)


def _draw_curve(points: Sequence[tuple[int, float]], last: int, colour: str) -> Markup:
    values = [value for _, value in points]
    low, span = min(values), (max(values) - min(values)) or 1.0
    places = [
        (_EDGE + (_WIDTH - _EDGE - 4) * epoch / max(last, 1), 8 + (_HEIGHT - _EDGE - 16) * (1 - (value - low) / span))
        for epoch, value in points
    ]
    steps = " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(places))
    return element("path", d=steps, stroke=colour)
