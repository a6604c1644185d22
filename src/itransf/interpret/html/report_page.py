"""The report page: the data of its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from itransf.config import format_toml
from itransf.evaluation import Evaluation
from itransf.interpret.attention import Attention
from itransf.interpret.cards import MOST_USERS, ConceptCard, list_entities
from itransf.interpret.explanation import Explanation
from itransf.interpret.html import METRICS, format_metric, render
from itransf.interpret.html.circle import draw_circle
from itransf.interpret.html.heatmap_page import collect_heatmap
from itransf.interpret.measures.statistics import Finding
from itransf.interpret.sentences import tabulate_split
from itransf.interpret.sharing import SharingGraph

OPEN_CARDS = 12
"""Cards shown before the rest is unfolded."""
MOST_USES = 4
ABOUT = {
    "sparse attention": "Relation sides that use at most k concepts, with weights that sum to one.",
    "inverse pairs": "Pairs of relations with each other's triples reversed: is the head attention of one most similar "
    "to the tail attention of the other? 1 if these pairs rank before all others.",
    "symmetric relations": "Relations whose triples hold in both directions: are their head and tail attention the "
    "most similar? 1 if they all rank before the others, 0.5 if attention does not tell.",
    "domains by top concept": "Do relation sides with the same heaviest concept come from the same domain, the first "
    "part of a name such as /film/film/genre?",
}
"""A sentence on each measure of a report."""
_WIDTH, _HEIGHT, _EDGE = 560, 170, 26  # of the curve of training


@dataclass(frozen=True, eq=False)
class ReportContent:
    """The content of a report.

    Attributes:
        model: Name of the model's class.
        info: Description of the run, as `Run.info` gives it.
        history: One entry per epoch.
        evaluation: Metrics; None where there was nothing to rank.
        relations: Each relation, most frequent first: metrics where it was ranked, and the concepts of both sides.
        attention: Attention of a model with concepts; the next five fields are of such a model, too.
        names: Names that were given to concepts.
        cards: Concept cards, most important first.
        sharing: Sharing graph.
        findings: How far the attention can be read.
        examples: Explained triples, and whether the model misses each.
        is_explained: Whether the model's score can be split into parts.
    """

    model: str
    info: Mapping[str, Any]
    history: Sequence[Mapping[str, Any]]
    evaluation: Evaluation | None
    relations: Sequence[Mapping[str, Any]]
    attention: Attention | None
    names: Mapping[int, str]
    cards: Sequence[ConceptCard]
    sharing: SharingGraph | None
    findings: Sequence[Finding]
    examples: Sequence[tuple[Explanation, bool]]
    is_explained: bool


def make_report(content: ReportContent) -> str:
    """Return the report as one HTML page that needs nothing else."""
    info, attention = content.info, content.attention
    evaluation = None if content.evaluation is None else content.evaluation.to_dict()
    findings = [each for each in content.findings if each.value is not None and each.measure in ABOUT]
    sections = {
        "metrics": ("Metrics", True),
        "relations": ("Relations", True),
        "heatmap": ("Attention", True),
        "concepts": ("Concepts", content.cards),
        "sharing": ("Sharing", content.sharing),
        "findings": ("Findings", findings),
        "examples": ("Examples", content.examples or not content.is_explained),
        "settings": ("Training", True),
    }
    heat, drawing = None, None
    if attention is not None:
        suggestions = {card.concept: card.suggestion for card in content.cards}
        heat = collect_heatmap(attention, content.names, suggestions)
    if content.sharing is not None:
        drawing = draw_circle(content.sharing)
    return render(
        "report.html",
        title=f"{info['graph']}: what {content.model} learned",
        scripts=("tables.js", "heatmap.js", "circle.js"),
        content=content,
        evaluation=evaluation,
        sections={key: title for key, (title, is_shown) in sections.items() if is_shown},
        tiles=list_tiles(info, evaluation, attention),
        buckets=list_buckets(evaluation) if evaluation else (),
        categories=list_categories(evaluation) if evaluation else (),
        names={card.concept: card.name for card in content.cards},
        heat=heat,
        drawing=drawing,
        findings=findings,
        curve=draw_training(content.history, info["config"]["validation"]["metric"]),
        settings=format_toml(info["config"]),
        list_entities=list_entities,
        tabulate_split=tabulate_split,
        ABOUT=ABOUT,
        MOST_USERS=MOST_USERS,
        MOST_USES=MOST_USES,
        OPEN_CARDS=OPEN_CARDS,
    )


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
