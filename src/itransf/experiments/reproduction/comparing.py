"""The columns that most tables share: the paper's mean rank and Hits@10, ours, and how far ours move."""

from __future__ import annotations

from itransf.experiments.reproduction.paper import Published
from itransf.experiments.reproduction.sections import MISSING
from itransf.experiments.reproduction.summaries import Summary, format_interval, format_spread

COMPARED = ("MR, paper", "MR", "MR, 95 %", "Hits@10, paper", "Hits@10", "Hits@10, 95 %")
METHOD = (
    "Filtered ranks on test, ties counted half, Hits in percent; *95 %* is where a figure lies when the test triples are "  # noqa: E501
    "drawn anew 1000 times. Where there are several seeds, the median stands first, the extremes in brackets; where a "
    "row of FB15k that is not in the main table has several, the later ones were trained once the first had been "
    "ranked, and all are counted."
)


def compare_with_paper(summary: Summary | None, published: Published | None) -> tuple[str, ...]:
    """Return the cells under `COMPARED`.

    Args:
        summary: What was measured, if anything.
        published: What the paper prints, if anything.
    """
    cells: list[str] = []
    for metric, printed in (("mr", published and f"{published.mr:g}"), ("hits@10", published and f"{published.hits}")):
        measured = (MISSING, "–")
        if summary is not None:
            measured = (format_spread(summary, metric), format_interval(summary.interval(metric), metric))
        cells += [printed or "–", *measured]
    return tuple(cells)
