"""`itransf export`: what a model has learned, as tables for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import make_console, print_json


class TableFormat(StrEnum):
    """How tables are written."""

    parquet = "parquet"
    csv = "csv"


def export_run(
    run: RunFolder,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the tables go.")],
    table_format: Annotated[TableFormat, typer.Option("--format", help="How they are written.")] = TableFormat.parquet,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the tables that lie there.")] = False,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Write vectors, concepts and attention as Parquet or CSV."""
    opened = open_run(run, device)
    files = opened.export(out, table_format.value, overwrite=overwrite)
    if as_json:
        print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        make_console().print(f"{file}  ({file.stat().st_size:,} bytes)", markup=False, soft_wrap=True)
