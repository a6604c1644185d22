"""`itransf score`: how plausible given triples are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import itransf
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import fill, format_number, make_console, make_table, print_json, warn


def score_file(
    run: RunFolder,
    triples: Annotated[
        Path,
        typer.Argument(metavar="TRIPLES", help="A tsv or csv file: head, relation, tail on each line."),
    ],
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Score given triples: plausibility, filtered ranks and percentile."""
    opened = open_run(run, device)
    given = itransf.prediction.read_triples(triples)
    warn(given.notes)
    scored = [triple.to_dict() for triple in opened.score(given.names, locate=given.locate, progress=True)]
    if as_json:
        print_json({"triples": scored})
        return
    console = make_console()
    console.print(tabulate_scores(scored))
    console.print("Ranks are among all entities whose triple is not known; the percentile is the share beaten.")


def tabulate_scores(scored: Iterable[Mapping[str, Any]]) -> Table:
    """Return a table of scored triples."""
    columns = ("Head", "Relation", "Tail", "Score", "Tail rank", "Head rank", "Percentile", "Known")
    rows = (
        (
            *(triple[f"{part}_label"] for part in ("head", "relation", "tail")),
            format_number(triple["score"], 3),
            f"{triple['tail_rank']:,g}",
            f"{triple['head_rank']:,g}",
            format_number(triple["percentile"], 1),
            triple["known"] or "",
        )
        for triple in scored
    )
    return fill(make_table(*columns, names=3), rows)
