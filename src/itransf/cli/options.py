"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import itransf
from itransf.cli.output import warn
from itransf.errors import ConfigError

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class DeviceName(StrEnum):
    """Where to compute."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder that 'itransf train' made.")]
DataSource = Annotated[
    str, typer.Argument(metavar="DATA", help="A dataset's name, a folder, a file of triples or an archive.")
]
Device = Annotated[DeviceName, typer.Option("--device", help="Where to compute.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Labels = Annotated[Path | None, typer.Option("--labels", metavar="FILE", help="Two columns: name, readable label.")]
Separator = Annotated[
    str | None,
    typer.Option("--separator", metavar="S", help="Between columns; tab, comma, ... (else detected)."),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Line 1 names the columns (else detected)."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse names in valid and test that train does not have.")]
Memory = Annotated[
    str, typer.Option("--memory", metavar="SIZE", help="The most memory for scores, such as 512MB or 2GB.")
]


def open_run(folder: Path, device: DeviceName) -> itransf.Run:
    """Open a run folder on the device that was asked for."""
    run: itransf.Run = itransf.open(folder, device=device.value)
    if run.unfinished is not None:
        warn([f"{folder} is unfinished (it has no model.safetensors): {tell_checkpoint(run.info())}"])
    return run


def tell_checkpoint(info: Mapping[str, Any]) -> str:
    """Say whose weights an unfinished run is used with."""
    total = info["config"]["training"]["epochs"]
    return f"the weights of its checkpoint, epoch {info['unfinished']:,} of {total:,}, are used; --resume goes on"


def parse_memory(text: str) -> int:
    """Turn "512MB", "1.5 GiB" or a plain number of bytes into bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if match is None or (match[3] and not match[2]):
        raise ConfigError(f"--memory {text!r} is not a size; write it as 512MB or 2GB")
    units = _BINARY_UNITS if match[3] else _UNITS
    size = int(float(match[1]) * units[match[2]])
    if size < 1:
        raise ConfigError(f"--memory {text!r} leaves no memory; write it as 512MB or 2GB")
    return size
