"""`itransf score`: how plausible given facts are."""

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
    facts: Annotated[
        Path,
        typer.Argument(metavar="FACTS", help="A tsv or csv file: head, relation, tail on each line."),
    ],
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Score given facts: plausibility, filtered ranks and percentile."""
    opened = open_run(run, device)
    given = itransf.prediction.read_facts(facts)
    warn(given.notes)
    scored = [fact.to_dict() for fact in opened.score(given.names, locate=given.locate, progress=True)]
    if as_json:
        print_json({"facts": scored})
        return
    console = make_console()
    console.print(tabulate_scores(scored))
    console.print("Ranks are among all entities whose fact is not known; the percentile is the share beaten.")


def tabulate_scores(scored: Iterable[Mapping[str, Any]]) -> Table:
    """Return a table of scored facts."""
    columns = ("Head", "Relation", "Tail", "Score", "Tail rank", "Head rank", "Percentile", "Known")
    rows = (
        (
            *(fact[f"{part}_label"] for part in ("head", "relation", "tail")),
            format_number(fact["score"], 3),
            f"{fact['tail_rank']:,g}",
            f"{fact['head_rank']:,g}",
            format_number(fact["percentile"], 1),
            fact["known"] or "",
        )
        for fact in scored
    )
    return fill(make_table(*columns, names=3), rows)
