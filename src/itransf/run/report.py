"""The report of a run, one HTML file: answers first, then concepts, then measures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from itransf.config import format_toml
from itransf.data.graph import RARELY_ANSWERED, Graph
from itransf.errors import ConfigError, check_count
from itransf.evaluation import BETTER, Evaluation, Ranks
from itransf.evaluation import METRICS as EVALUATED
from itransf.files import check_place, write_text
from itransf.interpret import Attention, Explanation, tabulate_split, write_verdict
from itransf.interpret.cards import MOST_TRIPLES, MOST_USERS, list_entities
from itransf.interpret.heatmap import collect_heatmap
from itransf.interpret.html import METRICS, format_metric, render
from itransf.interpret.html.circle import draw_circle
from itransf.interpret.measures.reading import find_scale, read_model
from itransf.interpret.measures.structure import measure_attention, mine_gold
from itransf.interpret.naming import LEAST_WEIGHT
from itransf.interpret.sentences import NO_PROBABILITY, PROBABILITY, format_probability, name_rank, write_triple
from itransf.models import SIDES
from itransf.prediction import LabelledTriple, MissingTriple, Prediction, name_triple

if TYPE_CHECKING:
    from itransf.run.run import Run

SEARCHED, NEW, NEW_OF_RELATION = 200, 20, 4
"""The number of new triples that are searched, shown, and shown of one relation."""
RARE = "few have an answer"
"""What a new triple is called if its relation is rarely answered."""
HITS, MISSES = 6, 4
"""The number of held-out triples that the model finds, and that it misses, among those shown."""
MISSED = 10
"""The rank beyond which a triple counts as missed."""
ANSWERS, DOUBTFUL, ENTITIES, KNOWN = 3, 12, 6, 8  # shown: answers, doubtful triples, entities, relations of an entity
OPEN_CARDS = 12
"""Cards shown before the rest is unfolded."""
MOST_USES = 3  # concepts of a side in the table of relations
NO_CONCEPTS: dict[str, Any] = {
    **dict.fromkeys(("attention", "sharing", "drawing", "heat")),
    **dict.fromkeys(("cards", "names", "findings", "about"), ()),
}
"""The part about concepts in the report of a model without them."""


class HeldOut(NamedTuple):
    """A held-out triple.

    Attributes:
        triple: The triple.
        rank: Rank of its tail by the rule of predictions.
        candidates: Number of tails that it was compared with, and itself.
        answers: The first answers for its tail.
        explanation: Reasons for the answer, with the parts of its score if it can be split.
    """

    triple: LabelledTriple
    rank: float
    candidates: int
    answers: list[Prediction]
    explanation: Explanation


def check_page(path: str | Path) -> Path:
    """Return the path of a report, or refuse one that cannot be written."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"{path}: a report is written as .html; choose such a name")
    check_place(target)
    return target


def write_report(
    run: Run,
    path: str | Path = "report.html",
    split: str | None = None,
    *,
    most_triples: int = MOST_TRIPLES,
    progress: bool = False,
) -> Path:
    """Write a self-contained HTML page about the run, and return its path.

    Args:
        run: The run.
        path: File that ends in .html.
        split: Triples to rank; by default test, or valid if there are no test triples.
        most_triples: Maximum number of validation triples to rank again for one concept card; 0 takes all.
        progress: Whether to show progress.

    Raises:
        ConfigError: The path does not end in .html, or the number of triples is not valid.
        DataError: The split has no triples.
        WriteError: The file cannot be written.
    """
    target = check_page(path)
    most_triples = check_count("most_triples", most_triples)
    splits = [split] if split else [name for name in ("test", "valid") if len(run.graph.split(name))]
    evaluation = run.evaluate(splits[0], progress=progress) if splits else None
    metrics = None if evaluation is None else evaluation.to_dict()
    concepts = describe_concepts(run, most_triples, progress) if run.has_concepts else NO_CONCEPTS
    relations = list_relations(run.graph, metrics, concepts["attention"])
    verdicts = {each["relation"]: each["skill"]["verdict"] for each in relations}
    info, model = run.info(), type(run.chosen.model).__name__
    page = render(
        "report.html",
        title=f"{info['graph']}: what {model} learned",
        scripts=("tables.js", "heatmap.js", "circle.js"),
        model=model,
        info=info,
        evaluation=metrics,
        tiles=list_tiles(info, metrics, concepts["attention"]),
        new=find_new(run, progress),
        held_out=show_held_out(run, evaluation),
        doubtful=run.doubt(top=DOUBTFUL, progress=progress),
        entities=[run.show(name) for name in list_connected(run.graph)],
        buckets=list_buckets(metrics) if metrics else (),
        categories=list_categories(metrics) if metrics else (),
        relations=relations,
        columns=list_columns(concepts["attention"]),
        **concepts,
        charts=draw_training(run.chosen.history, info["config"]["validation"]["metric"]),
        settings=format_toml(info["config"]),
        probability=f"In percent: {PROBABILITY}." if run.calibration else NO_PROBABILITY,
        chance=format_chance,
        doubts=list_doubts(run.graph, verdicts),
        RARE=RARE,
        list_entities=list_entities,
        name_rank=name_rank,
        write_triple=write_triple,
        tabulate_split=tabulate_split,
        write_verdict=write_verdict,
        KNOWN=KNOWN,
        MOST_USERS=MOST_USERS,
        MOST_USES=MOST_USES,
        OPEN_CARDS=OPEN_CARDS,
    )
    write_text(target, page)
    return target


def list_doubts(graph: Graph, verdicts: Mapping[str, str]) -> dict[str, str]:
    """Return what speaks against new triples of relations, by the name of the relation."""
    names = graph.relations.names
    found = {name: RARE for number, name in enumerate(names) if graph.share_answered(number) < RARELY_ANSWERED}
    return found | {name: verdict for name, verdict in verdicts.items() if verdict not in ("", BETTER)}


def find_new(run: Run, progress: bool) -> list[MissingTriple]:
    """Return the most probable new triples with reasons, at most a few of a relation."""
    seen, found = Counter[str](), list[MissingTriple]()
    for each in run.missing(top=SEARCHED, progress=progress):
        seen[each.relation] += 1
        if seen[each.relation] <= NEW_OF_RELATION and len(found) < NEW:
            found.append(each)
    return [replace(each, reason=reason) for each, reason in zip(found, run.give_reasons(found), strict=True)]


def format_chance(chance: float | None) -> str:
    """Return a probability in percent, in one piece; nothing where no calibration gives one."""
    return "" if chance is None else format_probability(chance).replace(" ", "\N{NO-BREAK SPACE}")


def show_held_out(run: Run, evaluation: Evaluation | None) -> list[list[HeldOut]]:
    """Return held-out triples that the model ranks first, and those that it ranks worst, with its answers."""
    if evaluation is None:
        return []
    ranks = evaluation.typed_ranks
    return [[show_triple(run, ranks, row) for row in rows] for rows in choose_triples(ranks)]


def show_triple(run: Run, ranks: Ranks, row: int) -> HeldOut:
    """Return a ranked triple with the answers of the model and an explanation."""
    triple, side = LabelledTriple(*name_triple(run.graph, ranks.triples[row].tolist())), SIDES.index("tail")
    names = (triple.head, triple.relation, triple.tail)
    explained = run.explain(*names, removals=False)
    answers = run.predict(triple.head, triple.relation, top=ANSWERS)
    return HeldOut(triple, float(ranks.ranks("tail")[row]), int(ranks.rivals[0, side, row]) + 1, answers, explained)


def choose_triples(ranks: Ranks, hits: int = HITS, misses: int = MISSES) -> list[list[int]]:
    """Return rows of ranked triples, found ones and missed ones, no relation and no entity twice among each.

    Args:
        ranks: Ranks of the triples to choose from.
        hits: Number of triples whose tail is ranked first, those with most competitors.
        misses: Number of triples whose tail is ranked worst, beyond the tenth place.
    """
    tails, rivals = ranks.ranks("tail"), ranks.rivals[0, SIDES.index("tail")]
    easiest, worst = (np.argsort(-values, kind="stable") for values in (rivals, tails))
    found = _choose_diverse(ranks, easiest[tails[easiest] == 1.0].tolist(), hits)
    return [found, _choose_diverse(ranks, worst[tails[worst] > MISSED].tolist(), misses)]


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


def list_connected(graph: Graph, count: int = ENTITIES) -> list[str]:
    """Return the entities with the most sides of relations in train, then with the most triples."""
    heads, relations, tails = graph.train.T
    size, entities = 2 * len(graph.relations), np.concatenate([heads, tails])
    sides = np.concatenate([2 * relations, 2 * relations + 1])
    kinds = np.bincount(np.unique(entities * size + sides) // size, minlength=len(graph.entities))
    order = np.lexsort((-np.bincount(entities, minlength=len(kinds)), -kinds))
    return [graph.entities.name(number) for number in order[:count].tolist()]


def describe_concepts(run: Run, most_triples: int, progress: bool) -> dict[str, Any]:
    """Return the part of a report about concepts.

    Args:
        run: Run of a model with concepts.
        most_triples: Maximum number of validation triples to rank again for one concept card.
        progress: Whether to show progress.
    """
    reading = read_model(run.chosen.model, run.graph, run.config.name)
    attention, sharing = run.concepts(), run.sharing()
    cards = run.cards(most_triples=most_triples, progress=progress)
    findings = measure_attention([reading], mine_gold(run.graph), find_scale(reading))
    return {
        "attention": attention,
        "cards": cards,
        "names": {card.concept: card.name for card in cards},
        "sharing": sharing,
        "drawing": draw_circle(sharing),
        "heat": collect_heatmap(attention, run.concept_names, {card.concept: card.suggestion for card in cards}),
        "findings": [each for each in findings if each.value is not None and each.measure in ABOUT],
        "about": ABOUT_SUMS if attention.symmetries else ABOUT,
    }


def list_relations(
    graph: Graph, evaluation: Mapping[str, Any] | None, attention: Attention | None
) -> list[dict[str, Any]]:
    """Return every relation, most frequent first: its metrics where it was ranked, and its strong concepts."""
    measured = () if evaluation is None else evaluation["relations"]
    ranked = {entry["relation"]: entry for entry in measured}
    names, statistics = graph.relations, graph.statistics
    found = []
    for number in np.argsort(-statistics.counts, kind="stable").tolist():
        parts = [] if attention is None else [attention.row(number, part) for part in attention.parts]
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
