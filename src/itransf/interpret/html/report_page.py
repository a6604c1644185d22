"""The report page: key numbers, metrics by group, and the curve of training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
_WIDTH, _HEIGHT, _EDGE = 560, 170, 26  # of the curve of training


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


def draw_training(history: Sequence[Mapping[str, Any]], metric: str) -> dict[str, Any] | None:
    """Return the curves of loss and validation, each on a scale of its own; None with fewer than two epochs."""
    lines = [line for line in history if line.get("phase") == "training"]
    losses = [(line["epoch"], line["loss"]) for line in lines if line.get("loss") is not None]
    validations = [(line["epoch"], line["metric"]) for line in lines if line.get("metric") is not None]
    if len(losses) < 2:
        return None
    last = max(epoch for epoch, _ in losses)
    curves = [("--soft", losses), ("--accent", validations)]
    best = (min if metric == "mr" else max)((value for _, value in validations), default=0.0)
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "edge": _EDGE,
        "axis": f"M{_EDGE} {_HEIGHT - _EDGE}H{_WIDTH}",
        "paths": [(colour, _write_curve(points, last)) for colour, points in curves if points],
        "loss": f"loss {losses[0][1]:.3g} → {losses[-1][1]:.3g} over {last:,} epochs",
        "metric": f"validation {metric}, best {best:.3g}" if validations else "",
    }


def _write_curve(points: Sequence[tuple[int, float]], last: int) -> str:
    values = [value for _, value in points]
    low, span = min(values), (max(values) - min(values)) or 1.0
    places = [
        (_EDGE + (_WIDTH - _EDGE - 4) * epoch / max(last, 1), 8 + (_HEIGHT - _EDGE - 16) * (1 - (value - low) / span))
        for epoch, value in points
    ]
    return " ".join(f"{'L' if number else 'M'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(places))
