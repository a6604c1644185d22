"""`itransf compare`: several models on one graph, side by side."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from typer import Context, Exit, Option

import itransf
from itransf.cli.options import AsJson, DataSource, Device, Literals, Quiet, Settings, name_folder, takes_form
from itransf.cli.output import Screen, remark, tell, warn
from itransf.cli.train import Stopped
from itransf.errors import MissingExtraError


@takes_form
def compare_models(
    context: Context,
    data: DataSource,
    *,
    models: Annotated[str, Option(metavar="A,B,...", help="Models and presets, such as complex,wn18/transe.")],
    seeds: Annotated[int, Option(metavar="N", help="Number of trainings of each model.")] = 1,
    rules: Annotated[bool, Option("--rules", help="Add each model with one-hop rules, and the rules alone.")] = False,
    settings: Settings = None,
    out: Annotated[Path | None, Option(metavar="FOLDER", help="Folder. [default: runs/DATA-comparison]")] = None,
    literals: Literals = "drop",
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: AsJson = False,
    form: Mapping[str, Any],
) -> None:
    """Train several models on one graph and compare them.

    The table has their ranks on the test set, best on the validation set first. The folder gets comparison.json,
    comparison.md, comparison.png and a run folder for each training. Give the same command again to continue: what is
    trained there is not trained again. --set holds for all models.
    """
    graph = itransf.load(data, **form, literals=literals, progress=not quiet)
    warn(graph.notes)
    folder = out or name_folder(f"{graph.name}-comparison")
    names = [name for name in map(str.strip, models.split(",")) if name]
    options: dict[str, Any] = {"seeds": seeds, "rules": rules, "out": folder, "device": device}
    try:
        found = itransf.compare(graph, names, settings or (), **options, progress=not quiet)
    except KeyboardInterrupt:
        raise Stopped(f"Stopped. Continue with: {shlex.join(['itransf', *(context.obj or ())])}") from None
    warn(f"{row.name} failed: {row.problem}" for row in found.rows if row.problem)
    if not any(row.test for row in found.rows):
        raise Exit(1)
    try:
        found.plot(folder / "comparison.png")
    except MissingExtraError as error:
        warn([f"there is no picture: {error}"])
    tell({"folder": str(folder), **found.to_dict()}, as_json, lambda screen: show_table(found, screen))
    if not quiet:
        remark(f"Stored in {folder}")


def show_table(found: itransf.run.Comparison, screen: Screen) -> None:
    """Print the table, and how it was made."""
    screen.tabulate(found.HEADS, (row.list_cells() for row in found.rows))
    screen.say(found.describe())
