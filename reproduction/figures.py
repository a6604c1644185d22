"""Figures in one style, written as PNG: the kinds that `experiments.toml` names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from itransf.errors import MissingExtraError
from itransf.files import replacing
from itransf.interpret.heatmap import arrange
from itransf.interpret.plot import draw
from reproduction.experiments import WHOLE, Experiment, Picture, Scope
from reproduction.results import Results
from reproduction.rows import SHORT, Filled, average, fill, scale_rows
from reproduction.statistics import Floats, RelationHits, Sample, read_relations
from reproduction.tables import BUCKETS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY = "#2c5f9e", "#d9822b", "#888888"
SHOWN = {"wn18": 18, "fb15k": 10}
"""Relations in an attention figure: those the paper names, then the most frequent."""
WIDTH = 0.38  # of a bar
ROOM, TOUCH = 0.06, 0.02  # share of a panel that a number takes, and distance that is too close


def write_pictures(experiment: Experiment, results: Results, folder: Path, scope: Scope = WHOLE) -> list[Path]:
    """Draw the figures of an experiment that have results; the same results give the same bytes.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    paths = []
    for picture in experiment.pictures:
        tables = [fill(experiment.find_table(title), results, scope) for title in picture.tables]
        tables = [each for each in tables if each.rows and all(found.records for found in each.rows)]
        if tables:
            path = folder / f"{picture.name}.png"
            with replacing(path) as temporary:
                options: dict[str, Any] = {"dpi": 130, "bbox_inches": "tight", "metadata": {"Software": None}}
                KINDS[picture.kind](picture, tables).savefig(temporary, format="png", **options)
            paths.append(path)
    return paths


def start_figure(columns: int, width: float = 5.2) -> tuple[Figure, Sequence[Axes]]:
    """Return an empty figure with a row of panels.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: PLC0415 (an optional extra)
    except ImportError:
        raise MissingExtraError("drawing a figure", "plots") from None
    figure = matplotlib.figure.Figure(figsize=(width * columns, 3.6), facecolor="white", layout="constrained")
    panels = figure.subplots(1, columns, squeeze=False)[0]
    for panel in panels:
        panel.grid(axis="y", color="#e4e4ea", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.tick_params(labelsize=8, color="#999999")
        panel.spines[["top", "right"]].set_visible(False)
    return figure, panels


def draw_frequencies(picture: Picture, tables: Sequence[Filled]) -> Figure:
    """Return the frequencies of relations and their logarithms, a panel for each graph."""
    figure, panels = start_figure(len(tables[0].rows))
    for panel, found in zip(panels, tables[0].rows, strict=True):
        counts = found.records[0]["frequencies"]
        places = np.arange(1, len(counts) + 1)
        panel.fill_between(places, counts, color=BLUE, alpha=0.25, linewidth=0, step="mid")
        panel.step(places, counts, where="mid", color=BLUE, linewidth=1.2)
        panel.set_title(found.row.label, fontsize=10, loc="left")
        panel.set_xlabel("relations, most frequent first", fontsize=9)
        panel.set_ylabel("training triples", fontsize=9, color=BLUE)
        panel.set_ylim(bottom=0)
        panel.set_xlim(places[0] - 0.5, places[-1] + 0.5)
        logs = panel.twinx()
        logs.plot(places, np.log(np.maximum(counts, 1)), color=ORANGE, linewidth=1.4)
        logs.set_ylabel("logarithm", fontsize=9, color=ORANGE)
        logs.set_ylim(bottom=0)
        logs.tick_params(labelsize=8, color="#999999")
        logs.spines["top"].set_visible(False)
    return figure


def draw_buckets(picture: Picture, tables: Sequence[Filled]) -> Figure:
    """Return two bars for each third of the relations, a panel for each table."""
    figure, panels = start_figure(len(tables), width=4.6)
    for panel, filled in zip(panels, tables, strict=True):
        pair = [read_relations(found.records) for found in filled.rows]
        draw_bars(panel, pair, [pair[0].choose_bucket(bucket) for bucket in range(len(BUCKETS))])
        panel.set_xticks(np.arange(len(BUCKETS)), [name.replace(" third", "\nthird") for name in BUCKETS], fontsize=8)
        panel.set_title(filled.table.title, fontsize=10, loc="left")
    panels[-1].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    panels[0].set_ylabel("Hits@10, macro average (%)", fontsize=9)
    return figure


def draw_relations(picture: Picture, tables: Sequence[Filled]) -> Figure:
    """Return two bars for each relation, most frequent first."""
    pair = [read_relations(found.records) for found in tables[0].rows]
    relations = pair[0].relations
    places = np.arange(len(relations))
    figure, panels = start_figure(1, width=max(4.0, 0.42 * len(relations) + 1.5))
    draw_bars(panels[0], pair, [places == place for place in places])
    names = [f"{relation['relation'].strip('_')} ({relation['test_triples']:,})" for relation in relations]
    panels[0].set_xticks(places, names, fontsize=7.5, rotation=40, ha="right", rotation_mode="anchor")
    panels[0].set_xlim(-0.6, len(relations) - 0.4)
    panels[0].set_ylabel("Hits@10 (%)", fontsize=9)
    panels[0].set_xlabel("relation (test triples), most frequent in train first", fontsize=9)
    panels[0].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_bars(panel: Axes, pair: Sequence[RelationHits], groups: Sequence[Any]) -> None:
    """Draw STransE beside ITransF for each group of relations."""
    for place, (hits, colour, name) in enumerate(zip(pair, (GREY, BLUE), ("STransE", "ITransF"), strict=True)):
        kept = [(number, hits.average(group)) for number, group in enumerate(groups) if group.any()]
        centres = [number + (place - 0.5) * WIDTH for number, _ in kept]
        heights, whiskers = measure_whiskers([sample for _, sample in kept], 100.0)
        panel.bar(centres, heights, WIDTH * 0.94, color=colour, label=name)
        panel.errorbar(centres, heights, whiskers, fmt="none", ecolor="#444444", elinewidth=0.8, capsize=1.5)
    panel.set_ylim(0, 104)


def measure_whiskers(samples: Sequence[Sample], scale: float) -> tuple[Floats, Floats]:
    """Return medians (n,) and the lengths of their whiskers (2, n), which are never negative."""
    heights = scale * np.array([sample.median for sample in samples])
    low, high = scale * np.array([sample.interval for sample in samples]).T
    return heights, np.maximum([heights - low, high - heights], 0.0)


def draw_curve(picture: Picture, tables: Sequence[Filled]) -> Figure:
    """Return mean rank and Hits@10 of the rows with a tick; the other rows are level lines."""
    figure, panels = start_figure(2, width=4.4)
    titles = {"mr": "MR, lower is better", "hits@10": "Hits@10 (%)"}
    for panel, (metric, title) in zip(panels, titles.items(), strict=True):
        scale = 100.0 if metric == "hits@10" else 1.0
        points = [found for found in tables[0].rows if found.row.tick]
        heights, whiskers = measure_whiskers([found.sample(metric) for found in points], scale)
        options: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 4, "capsize": 2, "label": "ITransF"}
        panel.errorbar(range(len(points)), heights, whiskers, **options)
        levels = [found for found in tables[0].rows if not found.row.tick]
        for found, colour in zip(levels, (ORANGE, GREY), strict=False):
            options = {"color": colour, "linestyle": "--", "linewidth": 1.2, "label": found.row.label}
            panel.axhline(scale * found.sample(metric).median, **options)
        panel.set_xticks(range(len(points)), [found.row.tick for found in points], fontsize=8)
        panel.set_xlabel("concept matrices" if levels else "λ", fontsize=9)
        panel.set_title(title, fontsize=10, loc="left")
    if levels:
        panels[-1].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_attention(picture: Picture, tables: Sequence[Filled]) -> Figure:
    """Return the heat map of a row: relations that the paper names, then the most frequent."""
    found = tables[0].find(picture.row)
    assert found is not None, picture.row
    attention = scale_rows(found.attention[0]) if picture.scaled else found.attention[0]
    frequent = [attention.relations.name(number) for number in attention.find()]
    names = sorted(frequent, key=lambda name: name not in SHORT)  # a stable sort
    most = SHOWN[found.row.preset.partition("/")[0]]
    figure = draw(arrange(attention.choose(names[:most])))
    words = {"weights": "Attention", "column": "concept", "colours": "weight", **(picture.words or {})}
    axes, bar = figure.axes
    title = axes.get_title(loc="left").replace("Attention", words["weights"]).replace("concept", words["column"])
    axes.set_title(title, fontsize=10, loc="left", pad=22)
    axes.set_xlabel(axes.get_xlabel().replace("concept", words["column"]), fontsize=8)
    bar.set_title(words["colours"], fontsize=8, loc="left", pad=6)
    return figure


def draw_choices(picture: Picture, tables: Sequence[Filled]) -> Figure:
    """Return Hits@10 against mean rank on validation, rows by their numbers; the first row is the preset."""
    figure, panels = start_figure(2, width=4.6)
    for panel, metric, title in zip(panels, ("hits@10", "rarest"), ("all triples", "rarest third"), strict=True):
        places = np.array([(average(found, "mr"), 100.0 * average(found, metric)) for found in tables[0].rows])
        panel.plot(*places[1:].T, "o", color=BLUE, markersize=4)
        panel.plot(*places[0], "o", color=ORANGE, markersize=8, label="the preset")
        for number in find_room(places):
            options: dict[str, Any] = {"xytext": (3, 3), "textcoords": "offset points", "fontsize": 8, "color": BLUE}
            panel.annotate(str(number), places[number], **options)
        panel.set_title(title, fontsize=9)
        panel.set_xlabel("MR, lower is better", fontsize=9)
        panel.set_ylabel("Hits@10 (%)", fontsize=9)
        panel.legend(fontsize=8, frameon=False, loc="lower right")
    return figure


def find_room(places: Floats) -> list[int]:
    """Return the places (n, 2) that can be numbered without covering others; the first has no number."""
    scaled = (places - places.min(0)) / np.maximum(np.ptp(places, axis=0), 1e-9)
    free = [0]
    for number, place in enumerate(scaled):
        away = np.delete(scaled, number, axis=0) - place
        covers = ((away > -TOUCH) & (away < ROOM)).all(1).any()
        if not covers and np.abs(scaled[free] - place).max(1).min() > ROOM:
            free.append(number)
    return free[1:]


KINDS: dict[str, Callable[[Picture, Sequence[Filled]], Figure]] = {
    "frequencies": draw_frequencies,
    "buckets": draw_buckets,
    "relations": draw_relations,
    "curve": draw_curve,
    "attention": draw_attention,
    "choices": draw_choices,
}
