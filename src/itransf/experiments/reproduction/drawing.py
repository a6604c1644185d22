"""Figures in one style, written as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itransf.errors import MissingExtraError
from itransf.experiments.reproduction.sections import Picture
from itransf.files import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREY, GREEN = "#2c5f9e", "#d9822b", "#888888", "#3f8f5b"


def write_picture(picture: Picture, folder: Path) -> Path:
    """Draw a picture into a folder and return where it lies; the same results give the same bytes.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = picture.draw()
    path = folder / f"{picture.name}.png"
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130, bbox_inches="tight", metadata={"Software": None})
    return path


def start_figure(columns: int, width: float = 5.2, height: float = 3.6) -> tuple[Figure, Sequence[Axes]]:
    """Return an empty figure with so many panels beside each other.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figures = load_figures()
    figure: Figure = figures.Figure(figsize=(width * columns, height), facecolor="white", layout="constrained")
    panels = figure.subplots(1, columns, squeeze=False)[0]
    for panel in panels:
        panel.grid(axis="y", color="#e4e4ea", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.tick_params(labelsize=8, color="#999999")
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    return figure, panels


def load_figures() -> Any:
    """Return matplotlib's figures, without pyplot and its global state."""
    try:
        import matplotlib.figure  # noqa: PLC0415 (an optional extra)
    except ImportError:
        raise MissingExtraError("drawing a figure", "plots") from None
    return matplotlib.figure
