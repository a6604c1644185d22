"""The figure of docs/performance.md: the cost of training on a triple against the sizes of graph and model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from benchmarks.records import Record
from benchmarks.scaling import NAMES, list_axis
from itransf.files import replacing

BLUE, GREY = "#2c5f9e", "#888888"
PLAIN = 10**4  # larger sizes are written as powers of ten


def write_figure(record: Record, path: Path) -> None:
    """Draw a record and write the figure as PNG."""
    with replacing(path) as temporary:
        draw(record).savefig(temporary, format="png", dpi=130, metadata={"Software": None})


def draw(record: Record) -> Figure:
    """Return a panel for each axis, and one for memory against entities."""
    figure = Figure(figsize=(10.5, 6.2), facecolor="white", layout="constrained")
    panels = figure.subplots(2, 3)
    for place, (panel, (axis, name)) in enumerate(zip(panels.flat, NAMES.items(), strict=False)):
        found = list_axis(record, axis)
        if not found:
            panel.set_axis_off()
            continue
        sizes = [point[axis] for point in found]
        median, low, high = (
            [1000 * point["seconds_per_1000_triples"][key] for point in found] for key in ("median", "low", "high")
        )
        panel.plot(sizes, median, "o-", color=BLUE, markersize=5)
        panel.fill_between(sizes, low, high, color=BLUE, alpha=0.15, linewidth=0)
        set_axes(panel, name, sizes, "µs per triple" if place % 3 == 0 else "")
    share_scale(panels.flat[: len(NAMES)])
    draw_memory(panels.flat[len(NAMES)], record)
    where = record["hardware"]["gpu"] if record["config"]["device"] == "cuda" else record["hardware"]["cpu"]
    figure.suptitle(f"Cost of training on a triple, one size varied at a time ({where})", fontsize=11)
    return figure


def draw_memory(panel: Axes, record: Record) -> None:
    """Draw peak memory and parameters against entities."""
    found = [point for point in list_axis(record, "entities") if point["peak_bytes"]]
    if not found:
        panel.set_axis_off()
        return
    sizes = [point["entities"] for point in found]
    for key, label, style in (("peak_bytes", "peak", "o-"), ("parameter_bytes", "parameters", "s--")):
        panel.plot(
            sizes, [point[key] / 1e9 for point in found], style, color=BLUE if style == "o-" else GREY, label=label
        )
    set_axes(panel, NAMES["entities"], sizes, "GB")
    panel.legend(fontsize=8, frameon=False)


def set_axes(panel: Axes, name: str, sizes: Sequence[int], unit: str) -> None:
    """Set logarithmic axes with ticks at the measured sizes."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel(name, fontsize=9)
    panel.set_ylabel(unit, fontsize=9)
    panel.set_xticks(sizes, [format_size(size) for size in sizes], fontsize=8)
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.minorticks_off()
    panel.tick_params(axis="y", labelsize=8)
    panel.grid(color="#e4e4ea", linewidth=0.6)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def share_scale(panels: Sequence[Axes]) -> None:
    """Give panels the same vertical scale, with plain numbers."""
    costs = [float(cost) for panel in panels for line in panel.lines for cost in line.get_ydata()]
    if not costs:
        return
    low, high = min(costs) / 1.5, max(costs) * 1.5
    ticks = [factor * 10.0**power for power in range(-4, 6) for factor in (1, 2, 5)]
    for panel in panels:
        panel.set_ylim(low, high)
        panel.set_yticks([tick for tick in ticks if low <= tick <= high])
        panel.yaxis.set_major_formatter(ScalarFormatter())


def format_size(size: int) -> str:
    """Return a size as the label of a tick."""
    if size < PLAIN:
        return f"{size}"
    return f"$10^{{{len(str(size)) - 1}}}$" if set(str(size)[1:]) == {"0"} else f"{size:.0e}"
