"""The report of a run: its content, and the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from itransf.config import format_toml
from itransf.data.graph import Graph
from itransf.errors import ConfigError, check_count
from itransf.evaluation import Evaluation, Ranks, evaluate
from itransf.files import check_place, write_text
from itransf.interpret.attention import Attention, read_attention
from itransf.interpret.cards import MOST_TRIPLES, MOST_USERS, list_entities, make_cards
from itransf.interpret.explanation import Explanation, explain
from itransf.interpret.html import render
from itransf.interpret.html.circle import draw_circle
from itransf.interpret.html.heatmap_page import collect_heatmap
from itransf.interpret.html.report_page import (
    ABOUT,
    ABOUT_SUMS,
    draw_training,
    list_buckets,
    list_categories,
    list_tiles,
)
from itransf.interpret.measures import find_scale, measure_attention
from itransf.interpret.measures.structure import mine_gold, read_model
from itransf.interpret.measures.verdicts import write_verdict
from itransf.interpret.sentences import tabulate_split, write_triple
from itransf.interpret.sharing import LEAST_WEIGHT, RARE, build_sharing_graph
from itransf.models import SIDES, ConceptModel, Model, is_explainable

HITS, MISSES = 6, 2
"""The number of triples that the model finds, and that it misses, among the examples."""
_MISSED = 10  # rank beyond which a triple counts as missed
OPEN_CARDS = 12
"""Cards shown before the rest is unfolded."""
MOST_USES = 3  # concepts of a side in the table of relations
NO_CONCEPTS: dict[str, Any] = {
    **dict.fromkeys(("attention", "sharing", "drawing", "heat")),
    **dict.fromkeys(("cards", "names", "findings", "about"), ()),
}
"""The part about concepts in the report of a model without them."""


class Shown(NamedTuple):
    """The model that the concepts and examples of a report are read from.

    Attributes:
        model: The model.
        attention: Its attention; by default it is read from the model.
        names: Names that were given to concepts.
    """

    model: Model
    attention: Attention | None = None
    names: Mapping[int, str] = MappingProxyType({})


def write_report(
    path: str | Path,
    model: Model,
    graph: Graph,
    info: Mapping[str, Any],
    history: Sequence[Mapping[str, Any]] = (),
    *,
    shown: Shown | None = None,
    split: str | None = None,
    most_triples: int = MOST_TRIPLES,
    progress: bool = False,
) -> Path:
    """Write a report as one HTML file that needs nothing else, and return its path.

    Args:
        path: File that ends in .html.
        model: Trained model.
        graph: Graph it was trained on.
        info: Description of the run, as `Run.info` gives it.
        history: One entry per epoch.
        shown: What concepts and examples are read from; by default the model, without names.
        split: Split whose triples are ranked; by default test, or valid where there are no test triples.
        most_triples: Maximum number of validation triples to rank again for one concept card; 0 ranks all.
        progress: Whether to show progress.

    Raises:
        ConfigError: The path does not end in .html, or the number of triples is not valid.
        DataError: The split has no triples.
        WriteError: The path cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"{path}: a report is written as .html; choose such a name")
    check_place(target)
    most_triples = check_count("most_triples", most_triples)
    evaluation = _evaluate(model, graph, split, progress)
    metrics = None if evaluation is None else evaluation.to_dict()
    concepts, shown = dict(NO_CONCEPTS), shown or Shown(model)
    if isinstance(shown.model, ConceptModel):
        concepts |= describe_concepts(shown, graph, info["model"], most_triples, progress)
    examples = list[tuple[Explanation, bool]]()
    if evaluation is not None and is_explainable(shown.model):
        examples = explain_examples(shown.model, graph, evaluation.ranks, shown.names)
    page = render(
        "report.html",
        title=f"{info['graph']}: what {type(shown.model).__name__} learned",
        scripts=("tables.js", "heatmap.js", "circle.js"),
        model=type(shown.model).__name__,
        info=info,
        evaluation=metrics,
        tiles=list_tiles(info, metrics, concepts["attention"]),
        buckets=list_buckets(metrics) if metrics else (),
        categories=list_categories(metrics) if metrics else (),
        relations=list_relations(graph, metrics, concepts["attention"]),
        columns=list_columns(concepts["attention"]),
        **concepts,
        examples=examples,
        is_explained=is_explainable(shown.model),
        curve=draw_training(history, info["config"]["validation"]["metric"]),
        settings=format_toml(info["config"]),
        list_entities=list_entities,
        write_triple=write_triple,
        tabulate_split=tabulate_split,
        write_verdict=write_verdict,
        MOST_USERS=MOST_USERS,
        MOST_USES=MOST_USES,
        OPEN_CARDS=OPEN_CARDS,
    )
    write_text(target, page)
    return target


def describe_concepts(shown: Shown, graph: Graph, name: str, most_triples: int, progress: bool) -> dict[str, Any]:
    """Return the part of a report about concepts.

    Args:
        shown: A model with concepts.
        graph: Graph it was trained on.
        name: Name of the model.
        most_triples: Maximum number of validation triples to rank again for one concept card.
        progress: Whether to show progress.
    """
    model, given = shown.model, shown.names
    attention, reading = shown.attention or read_attention(model, graph), read_model(model, graph, name)
    cards = make_cards(model, graph, attention, names=given, most_triples=most_triples, progress=progress)
    sharing = build_sharing_graph(attention, graph.statistics.frequency_buckets() == RARE)
    findings = measure_attention([reading], mine_gold(graph), find_scale(reading))
    return {
        "attention": attention,
        "cards": cards,
        "names": {card.concept: card.name for card in cards},
        "sharing": sharing,
        "drawing": draw_circle(sharing),
        "heat": collect_heatmap(attention, given, {card.concept: card.suggestion for card in cards}),
        "findings": [each for each in findings if each.value is not None and each.measure in ABOUT],
        "about": ABOUT_SUMS if attention.symmetries else ABOUT,
    }


def _evaluate(model: Model, graph: Graph, split: str | None, progress: bool) -> Evaluation | None:
    """Rank the triples of a split, by default of the first of test and valid that has any."""
    found = [split] if split else [name for name in ("test", "valid") if len(graph.split(name))]
    return evaluate(model, graph, found[0], progress=progress) if found else None


def list_relations(
    graph: Graph, evaluation: Mapping[str, Any] | None, attention: Attention | None
) -> list[dict[str, Any]]:
    """Return every relation, most frequent first: its metrics where it was ranked, and its strong concepts."""
    measured = () if evaluation is None else evaluation["relations"]
    ranked = {entry["relation"]: entry for entry in measured}
    names, statistics = graph.relations, graph.statistics
    found = []
    for number in np.argsort(-statistics.counts, kind="stable").tolist():
        parts = [] if attention is None else [attention.row(number, part).concepts for part in attention.parts]
        relation = {
            "relation": names.name(number),
            "label": names.label(number),
            "train_triples": int(statistics.counts[number]),
            "category": statistics.categories[number],
            "both": {"mrr": None, "hits@10": None, "queries": None},
            "skill": {"gain": None, "low": None, "high": None, "verdict": ""},
            "concepts": [[use for use in part if abs(use.weight) >= LEAST_WEIGHT] for part in parts],
        }
        found.append({**relation, **ranked.get(relation["relation"], {})})
    return found


def list_columns(attention: Attention | None) -> list[tuple[str, bool]]:
    """Return the headings of the concepts of relations; none holds numbers."""
    parts = () if attention is None else attention.parts
    return [(f"{part} concepts".capitalize() if len(parts) > 1 else "Concepts", False) for part in parts]


def choose_triples(ranks: Ranks, hits: int = HITS, misses: int = MISSES) -> list[tuple[int, bool]]:
    """Return rows of ranked triples, found ones then missed ones, no relation and no entity twice among each.

    Args:
        ranks: Ranks of the triples to choose from.
        hits: Number of triples whose tail the model ranks first.
        misses: Number of triples whose tail it ranks beyond the tenth place.

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


def explain_examples(
    model: Model, graph: Graph, ranks: Ranks, names: Mapping[int, str]
) -> list[tuple[Explanation, bool]]:
    """Return an explanation of each chosen triple, and whether the model misses it.

    Args:
        model: An explainable model.
        graph: Names and known triples.
        ranks: Ranks of the triples to choose from.
        names: Names that were given to concepts.
    """
    examples = []
    for row, missed in choose_triples(ranks):
        head, relation, tail = ranks.triples[row].tolist()
        triple = (graph.entities.name(head), graph.relations.name(relation), graph.entities.name(tail))
        examples.append((explain(model, graph, *triple, removals=False, names=names), missed))
    return examples
