"""The attention heat map as a picture: PNG or SVG by matplotlib, in fonts that have the letters of all names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from itransf.errors import ConfigError, MissingExtraError
from itransf.files import replacing, write_text
from itransf.interpret.attention import Attention
from itransf.interpret.heatmap import MOST_RELATIONS, Arrangement, arrange, make_heatmap_page, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".html")
TALLEST = 400
"""Upper limit for the number of relations in a picture."""
FONT = "DejaVu Sans"
"""The font that comes with matplotlib and is used for every letter it has."""
_LONGEST = 44  # characters of a row's label
_ROW, _COLUMN = 0.17, 0.26  # inches
_NARROWEST, _WIDEST = 0.1, 24.0  # inches: of a column, of all columns


def write_heatmap(
    attention: Attention,
    path: str | Path,
    names: Mapping[int, str] | None = None,
    most_relations: int = MOST_RELATIONS,
) -> Path:
    """Draw which relations use which concepts, and return the path of the picture.

    Rows are relations, or their sides, "(H)" for heads and "(T)" for tails, columns concepts; both are ordered so that
    rows which share concepts are neighbours. Unused concepts are left out; antisymmetric ones have an "a".

    Args:
        attention: Attention of all relations, or of those chosen by `Attention.choose`.
        path: File that ends in .png, .svg, or .html for an interactive page.
        names: Names that were given to concepts.
        most_relations: Maximum number of relations, the most frequent first; a page shows more and can be searched.

    Raises:
        ConfigError: The path has another ending.
        WriteError: The path cannot be written.
        MissingExtraError: matplotlib is not installed; a page does not need it.
    """
    target, kind = Path(path), check_heatmap(path)
    if kind == "html":
        write_text(target, make_heatmap_page(attention, names))
    else:
        _draw_to(target, arrange(attention, min(most_relations, TALLEST), names=names), kind)
    return target


def check_heatmap(path: str | Path) -> str:
    """Return the format of a heat map by the ending of its path; another ending is refused."""
    return check_picture(path, "a heat map", FORMATS)


def check_picture(path: str | Path, what: str = "a picture", formats: Sequence[str] = FORMATS[:2]) -> str:
    """Return the format of a picture by the ending of its path, "png"; an ending that is no format is refused."""
    suffix = Path(path).suffix.lower()
    if suffix not in formats:
        listed = f"{', '.join(formats[:-1])} or {formats[-1]}"
        raise ConfigError(f"{path}: {what} is written as {listed}; choose such a name")
    return suffix[1:]


def write_reliability(bins: Iterable[Mapping[str, float]], path: str | Path) -> Path:
    """Draw the share of true candidates over their probability, with intervals, and return the path of the picture.

    Args:
        bins: Bins of `itransf.prediction.assess_calibration`.
        path: File that ends in .png or .svg.

    Raises:
        ConfigError: The path has another ending.
        MissingExtraError: matplotlib is not installed.
    """
    figure: Figure = _load_matplotlib().figure.Figure(figsize=(4.0, 4.0), facecolor="white")
    axes = figure.add_axes((0.15, 0.13, 0.82, 0.82))
    axes.plot([0.0, 1.0], [0.0, 1.0], color="#999999", linewidth=0.8)
    for entry in bins:
        axes.plot([entry["probability"]] * 2, [entry["low"], entry["high"]], color="#1f5fa8", linewidth=1.2)
        axes.plot([entry["probability"]], [entry["true"]], "o", color="#1f5fa8", markersize=4)
    axes.set(xlabel="Probability", ylabel="Share of true candidates, with 95 % interval", xlim=(0, 1), ylim=(0, 1))
    return _save_figure(figure, path)


def write_tradeoff(rows: Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Draw the MRR of models over their training time and over their parameters, and return the path of the picture.

    Args:
        rows: Rows of a comparison that have figures.
        path: File that ends in .png or .svg.

    Raises:
        ConfigError: The path has another ending.
        MissingExtraError: matplotlib is not installed.
    """
    matplotlib = _load_matplotlib()
    figure: Figure = matplotlib.figure.Figure(figsize=(9.0, 4.0), facecolor="white", layout="constrained")
    places = figure.subplots(1, 2, sharey=True)
    for axes, key, title in zip(places, ("seconds", "parameters"), ("Training time (s)", "Parameters"), strict=True):
        for row in rows:
            axes.plot([row[key]] * 2, row["interval"]["mrr"], color="#1f5fa8", linewidth=1.2)
            axes.plot([row[key]], [row["test"]["mrr"]], "o", color="#1f5fa8", markersize=4)
            axes.annotate(row["name"], (row[key], row["test"]["mrr"]), (4, 3), textcoords="offset points", fontsize=7.5)
        axes.set(xscale="log", xlabel=title, xmargin=0.3)
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.xaxis.set_minor_formatter(matplotlib.ticker.LogFormatter())
    places[0].set_ylabel("MRR on test, with 95 % interval")
    return _save_figure(figure, path)


def _save_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure in the format of the ending of its path."""
    kind = check_picture(path)
    with replacing(Path(path)) as temporary:
        figure.savefig(temporary, format=kind, dpi=160)
    return Path(path)


def find_missing_letters(attention: Attention, names: Mapping[int, str] | None = None) -> str:
    """Return the letters of relations and concepts without an installed font: pictures show boxes for them."""
    labels = [attention.relations.label(number) for number in range(len(attention.relations))]
    return choose_fonts([*labels, *(names or {}).values()])[1]


def choose_fonts(texts: Iterable[str]) -> tuple[list[str], str]:
    """Return font families that together have the letters of these texts, and the letters that none of them has.

    Other fonts than matplotlib's own are searched only for letters that it lacks.
    """
    manager = _load_matplotlib().font_manager
    fonts = sorted(manager.fontManager.ttflist, key=lambda entry: (entry.name, entry.fname))
    by_name = {entry.name: entry.fname for entry in fonts}
    missing = {letter for text in texts for letter in text if not letter.isspace()} - read_letters(by_name[FONT])
    families = [FONT]
    for name, path in by_name.items():
        if not missing or name.startswith("Last Resort"):  # that one has a box for every letter
            continue
        found = missing & read_letters(path)
        if found:
            families.append(name)
            missing -= found
    return families, "".join(sorted(missing))


def read_letters(path: str) -> set[str]:
    """Return the letters of a font file; none if it cannot be read."""
    try:
        return {chr(code) for code in _load_matplotlib().font_manager.get_font(path).get_charmap()}
    except (OSError, RuntimeError):
        return set()


def _load_matplotlib() -> Any:
    """Return matplotlib with its figures and fonts, without pyplot and its global state."""
    try:
        import matplotlib.figure  # noqa: PLC0415 (an optional extra)
        import matplotlib.font_manager  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("drawing a picture", "plots") from None
    return matplotlib


def _draw_to(target: Path, arrangement: Arrangement, kind: str) -> None:
    """Write the picture; the same attention gives the same bytes."""
    matplotlib = _load_matplotlib()
    families, _ = choose_fonts([arrangement.title, *arrangement.labels, *arrangement.names.values()])
    # Text stays text in an SVG: it can be searched, and the viewer has fonts that may be missing here.
    settings = {"font.family": families, "svg.hashsalt": "itransf", "svg.fonttype": "none"}
    with warnings.catch_warnings(), matplotlib.rc_context(settings), replacing(target) as temporary:
        # The caller reports missing letters by `find_missing_letters`.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        metadata = {"Date": None} if kind == "svg" else {}
        draw(arrangement).savefig(temporary, format=kind, dpi=160, bbox_inches="tight", metadata=metadata)


def draw(arrangement: Arrangement) -> Figure:
    """Return the heat map as a matplotlib figure."""
    rows, columns = max(len(arrangement.labels), 1), max(len(arrangement.concepts), 1)
    width, height = max(columns * choose_width(columns), 3.0), rows * _ROW
    figure: Figure = _load_matplotlib().figure.Figure(figsize=(width, height), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    # A scale from 0 up or, where weights are negative, one that is even about zero.
    limit, colours = arrangement.limit, "RdBu" if arrangement.signed else "Blues"
    image = axes.pcolormesh(
        arrangement.values if arrangement.values.size else np.zeros((rows, columns)),
        cmap=colours,
        vmin=-limit if arrangement.signed else 0.0,
        vmax=limit,
        edgecolors="#e8e8ee",
        linewidth=0.4,
    )
    _label(axes, arrangement)
    share = min(1.0, 1.5 / height)  # of the height for the colour bar
    bar = figure.add_axes((1.0 + 0.2 / width, 1.0 - share, 0.12 / width, share))
    figure.colorbar(image, cax=bar).outline.set_visible(False)
    bar.tick_params(labelsize=7, length=2, color="#999999")
    bar.set_title("weight", fontsize=8, loc="left", pad=6)
    return figure


def choose_width(columns: int) -> float:
    """Return the width of a column in inches: narrower where there are many."""
    return min(_COLUMN, max(_NARROWEST, _WIDEST / columns)) if columns else _COLUMN


def _label(axes: Axes, arrangement: Arrangement) -> None:
    """Write the names of rows and columns, and the title."""
    rows, columns = len(arrangement.labels), len(arrangement.concepts)
    axes.invert_yaxis()
    axes.set_yticks(np.arange(rows) + 0.5, [shorten(label, _LONGEST) for label in arrangement.labels], fontsize=7.5)
    narrow = choose_width(columns) < 0.2
    numbered = zip(arrangement.numbers, arrangement.concepts, strict=True)
    numbers = [f"{number} {arrangement.names.get(concept, '')}".strip() for number, concept in numbered]
    turned = narrow or bool(arrangement.names)
    axes.set_xticks(np.arange(columns) + 0.5, numbers, fontsize=5 if narrow else 7, rotation=90 * turned)
    axes.tick_params(length=0, bottom=False, labelbottom=False, top=True, labeltop=True)
    if rows > 30 and not turned:
        axes.tick_params(labelbottom=True)
    axes.set_title(arrangement.title, fontsize=10, loc="left", pad=22)
    marked = " (a: antisymmetric)" if arrangement.antisymmetric else ""
    named = " and name" if arrangement.names else ""
    axes.set_xlabel(f"concept, by its number{named}{marked}", fontsize=8)
    for spine in axes.spines.values():
        spine.set_visible(False)
