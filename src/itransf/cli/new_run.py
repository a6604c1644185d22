"""The folder of a run that a command makes of another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import itransf
from itransf.errors import RunError

NewRun = Annotated[Path, typer.Option("--out", metavar="NEWRUN", help="The folder of the new run.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the run that lies there.")]


def refuse_taken(folder: Path, overwrite: bool) -> None:
    """Refuse, before any work is done, a folder in which something lies that may not be overwritten."""
    if not overwrite and itransf.storage.RunFolder(folder).is_occupied:
        raise RunError(f"{folder}: is in use already; --overwrite replaces a run, another --out leaves it alone")
