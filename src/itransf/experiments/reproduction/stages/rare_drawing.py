"""The figures of rare relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from itransf.experiments.reproduction.drawing import BLUE, GREY, start_figure
from itransf.experiments.reproduction.rarity import Mask, RelationHits
from itransf.experiments.reproduction.summaries import find_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 0.38  # of a bar
Pair = tuple[RelationHits, RelationHits]


def draw_buckets(pairs: Mapping[str, Pair], names: Sequence[str]) -> Figure:
    """Return a panel for each graph, two bars for each bucket."""
    figure, panels = start_figure(len(pairs), width=4.6)
    for panel, (title, pair) in zip(panels, pairs.items(), strict=True):
        buckets = [pair[0].choose_bucket(bucket) for bucket in range(len(names))]
        draw_bars(panel, pair, buckets)
        panel.set_xticks(np.arange(len(names)), [name.replace(" third", "\nthird") for name in names], fontsize=8)
        panel.set_title(title, fontsize=10, loc="left")
    panels[-1].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    panels[0].set_ylabel("Hits@10, macro average (%)", fontsize=9)
    return figure


def draw_relations(pair: Pair) -> Figure:
    """Return two bars for each relation, the most frequent first."""
    relations = pair[0].relations
    everything = np.arange(len(relations))
    figure, panels = start_figure(1, width=max(4.0, 0.42 * len(relations) + 1.5))
    draw_bars(panels[0], pair, [everything == place for place in everything])
    names = [f"{relation['relation'].strip('_')} ({relation['test_triples']:,})" for relation in relations]
    panels[0].set_xticks(everything, names, fontsize=7.5, rotation=40, ha="right", rotation_mode="anchor")
    panels[0].set_xlim(-0.6, len(relations) - 0.4)
    panels[0].set_ylabel("Hits@10 (%)", fontsize=9)
    panels[0].set_xlabel("relation (triples in test), most frequent in train first", fontsize=9)
    panels[0].legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_bars(panel: Axes, pair: Pair, groups: Sequence[Mask]) -> None:
    """Draw STransE beside ITransF for each group of relations."""
    for place, (hits, colour, name) in enumerate(zip(pair, (GREY, BLUE), ("STransE", "ITransF"), strict=True)):
        kept = [(number, hits.average(group)) for number, group in enumerate(groups) if group.any()]
        centres = [number + (place - 0.5) * WIDTH for number, _ in kept]
        heights = np.array([100 * average.median for _, average in kept])
        panel.bar(centres, heights, WIDTH * 0.94, color=colour, label=name)
        spans = [find_interval(np.median(average.replicates, axis=0)) for _, average in kept]
        low = np.maximum(heights - [100 * span.low for span in spans], 0.0)
        high = np.maximum([100 * span.high for span in spans] - heights, 0.0)
        panel.errorbar(centres, heights, [low, high], fmt="none", ecolor="#444444", elinewidth=0.8, capsize=1.5)
    panel.set_ylim(0, 104)
