"""`itransf report`: everything worth seeing of a run, as one page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import make_console, print_json


class MeasuredSplit(StrEnum):
    """Which triples are ranked."""

    test = "test"
    valid = "valid"


OutFile = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the page goes; ends in .html.")]
SplitName = Annotated[
    MeasuredSplit | None, typer.Option("--split", help="Which triples to rank: test, if there are any.")
]
Triples = Annotated[
    int,
    typer.Option("--triples", metavar="N", min=0, help="Validation triples ranked again for a concept card; 0: all."),
]


def write_report(
    run: RunFolder,
    *,
    out: OutFile = Path("report.html"),
    split: SplitName = None,
    triples: Triples = 1000,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page: metrics, relations, heat map, concepts, sharing, examples."""
    opened = open_run(run, device)
    chosen = None if split is None else split.value
    path = opened.report(out, chosen, most_triples=triples, progress=not as_json)
    size = path.stat().st_size
    if as_json:
        print_json({"report": str(path), "bytes": size})
        return
    make_console().print(
        f"The report is in {path} ({size / 1000:,.0f} kB); open it in a browser", markup=False, soft_wrap=True
    )
