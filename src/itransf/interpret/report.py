"""The report of a run: gathering what it tells, and writing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from itransf.data.graph import Graph
from itransf.errors import ConfigError, check_count
from itransf.evaluation import Evaluation, evaluate
from itransf.files import check_place, write_text
from itransf.interpret.attention import read_attention
from itransf.interpret.cards import MOST_TRIPLES, make_cards
from itransf.interpret.examples import tell_triples
from itransf.interpret.lending import RARE, build_sharing_graph
from itransf.interpret.measures import find_scale, measure_attention, mine_gold, read_model
from itransf.interpret.pages.report_page import ReportContent, make_report
from itransf.models import ITransF, Model


def write_report(
    path: str | Path,
    model: Model,
    graph: Graph,
    info: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]] = (),
    *,
    names: Mapping[int, str] | None = None,
    split: str | None = None,
    most_triples: int = MOST_TRIPLES,
    progress: bool = False,
) -> Path:
    """Write a report as one HTML file that needs nothing else, and return where it lies.

    Args:
        path: Ends in .html.
        model: What has learned.
        graph: What it learned from.
        info: What the run is, as `Run.info` gives it.
        history: One entry per epoch.
        names: What people call some of the concepts.
        split: The triples that are ranked; test, or valid where there are no test triples, if not given.
        most_triples: The most validation triples ranked again for one concept card; zero takes all.
        progress: Whether to show it.

    Raises:
        ConfigError: The path does not end in .html, or the number of triples is none.
        DataError: The split has no triples.
        WriteError: The path cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"{path}: a report is written as .html; choose such a name")
    check_place(target)
    most_triples = check_count("most_triples", most_triples)
    evaluation = _evaluate(model, graph, split, progress)
    content = gather_content(model, graph, info, history, evaluation, names or {}, most_triples, progress)
    write_text(target, make_report(content))
    return target


def gather_content(
    model: Model,
    graph: Graph,
    info: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]],
    evaluation: Evaluation | None,
    names: Mapping[int, str],
    most_triples: int,
    progress: bool,
) -> ReportContent:
    """Return everything a report tells; for a model without concepts only its figures."""
    figures = None if evaluation is None else evaluation.to_dict()
    relations = list_relations(graph, figures)
    if not isinstance(model, ITransF):
        examples = tell_triples(model, graph, evaluation.ranks, {}, {}) if evaluation is not None else []
        return ReportContent(info, history, figures, relations, examples=examples)
    attention = read_attention(model, graph)
    cards = make_cards(model, graph, attention, names=names, most_triples=most_triples, progress=progress)
    suggestions = {card.concept: card.suggestion for card in cards}
    examples = tell_triples(model, graph, evaluation.ranks, names, suggestions) if evaluation is not None else []
    sharing = build_sharing_graph(attention, graph.statistics.frequency_buckets() == RARE)
    reading = read_model(model, graph, info["model"])
    findings = measure_attention([reading], mine_gold(graph), find_scale(reading))
    return ReportContent(info, history, figures, relations, attention, names, cards, sharing, examples, findings)


def _evaluate(model: Model, graph: Graph, split: str | None, progress: bool) -> Evaluation | None:
    """Rank the triples of a split; of the first of test and valid that has any, if none is asked for."""
    found = [split] if split else [name for name in ("test", "valid") if len(graph.split(name))]
    return evaluate(model, graph, found[0], progress=progress) if found else None


def list_relations(graph: Graph, figures: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return every relation, most frequent first, with its figures where it was ranked."""
    ranked = {entry["relation"]: entry for entry in (figures or {}).get("relations", ())}
    statistics = graph.statistics
    order = sorted(range(len(graph.relations)), key=lambda number: -statistics.counts[number])
    return [
        ranked.get(graph.relations.name(number))
        or {
            "relation": graph.relations.name(number),
            "label": graph.relations.label(number),
            "train_triples": int(statistics.counts[number]),
            "category": statistics.categories[number],
        }
        for number in order
    ]
