"""Options that several commands share, and opening the run that they are about."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, get_args

from typer import Argument, Option

import itransf
from itransf.cli.output import warn
from itransf.errors import ConfigError, RunError

_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

RunFolder = Annotated[Path, Argument(metavar="RUN", help="Run folder, made by 'itransf train'.")]
NewRun = Annotated[Path, Option("--out", metavar="NEWRUN", help="Folder of the new run.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace the run in that folder.")]
DataSource = Annotated[str, Argument(metavar="DATA", help="Name of a dataset, folder, file of triples or archive.")]
Labels = Annotated[Path | None, Option("--labels", metavar="FILE", help="Two columns: name, readable label.")]
Types = Annotated[Path | None, Option("--types", metavar="FILE", help="Two columns: entity, type.")]
Domains = Annotated[
    Path | None, Option("--domains", metavar="FILE", help="Three columns: relation, type of heads, type of tails.")
]
Literals = Annotated[str, Option("--literals", metavar="MODE", help="Numbers, dates, long texts: drop, keep or bin.")]
FORM = {
    "separator": Annotated[str | None, Option("--separator", metavar="S", help="Separator. [default: detected]")],
    "header": Annotated[
        bool | None, Option("--header/--no-header", help="Whether the first line is a header. [default: detected]")
    ],
    "columns": Annotated[str | None, Option("--columns", metavar="H,R,T", help="Columns: names, or numbers from 1.")],
    "weight": Annotated[
        str | None,
        Option("--weight", metavar="C", help="Column of triple weights. [default: weight, confidence or count]"),
    ],
    "wide": Annotated[bool, Option("--wide", help="Every column is a relation, every row an entity.")],
    "key": Annotated[str | None, Option("--key", metavar="C", help="Entities of a wide table. [default: 1]")],
    "split": Annotated[
        str | None, Option("--split", metavar="S", help="Separator between several values in one cell.")
    ],
    "skip_bad": Annotated[bool, Option("--skip-bad", help="Leave out lines that cannot be read.")],
}
"""Options about the form of a table, under the names of `itransf.data.Form`."""

Strict = Annotated[bool, Option("--strict", help="Refuse names in valid and test that are not in the training set.")]
Settings = Annotated[list[str] | None, Option("--set", metavar="KEY=VALUE", help="Setting such as training.epochs=50.")]
Triples = Annotated[
    int, Option("--triples", metavar="N", help="Maximum number of validation triples per concept; 0: all.")
]
Device = Annotated[str, Option("--device", metavar="D", help="auto, cpu, cuda or a GPU such as cuda:1.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print the result only, without progress.")]
Explain = Annotated[bool, Option("--explain", help="Give a reason for each triple: paths that support it.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]


def takes_form(command: Callable[..., None], left_out: Collection[str] = ()) -> Callable[..., None]:
    """Give a command the options of `FORM` but some, which it gets as one mapping, its argument `form`."""
    signature, kind = inspect.signature(command, eval_str=True), inspect.Parameter.KEYWORD_ONLY
    options = {name: option for name, option in FORM.items() if name not in left_out}
    parameters = [parameter for name, parameter in signature.parameters.items() if name != "form"]
    for name, option in options.items():
        default = False if get_args(option)[0] is bool else None
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=option))

    @wraps(command)
    def run(**arguments: Any) -> None:
        command(form={name: arguments.pop(name) for name in options}, **arguments)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


takes_plain_form = partial(takes_form, left_out=["weight"])
"""`takes_form` for commands that read no weights."""


def check_out(path: Path | None) -> Path | None:
    """Refuse a file whose suffix is not that of a table, before any work is done."""
    if path is not None:
        itransf.prediction.check_suffix(path)
    return path


Out = Annotated[
    Path | None,
    Option("--out", metavar="FILE", callback=check_out, help="File for the rows: .csv, .tsv, .parquet, .jsonl."),
]


def open_run(folder: Path, device: str) -> itransf.Run:
    """Open a run folder on a device."""
    run = itransf.open(folder, device=device)
    if run.unfinished is not None:
        warn([f"{folder} is unfinished (it has no model.safetensors): {describe_checkpoint(run.info())}"])
    return run


def describe_checkpoint(info: Mapping[str, Any]) -> str:
    """Return which weights an unfinished run uses."""
    total = info["config"]["training"]["epochs"]
    return f"using the checkpoint of epoch {info['unfinished']:,} of {total:,}; --resume continues training"


def name_folder(name: str) -> Path:
    """Return the folder below `runs` for a run or comparison of this name; other characters become dashes."""
    return Path("runs") / re.sub(r"[^\w.-]+", "-", name)


def refuse_taken(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that contains a run and may not be overwritten, before any work is done."""
    place = itransf.storage.RunFolder(folder)
    place.check_free(overwrite=True)
    if place.is_occupied and not overwrite:
        raise RunError(f"{folder}: already contains a run; replace it with --overwrite, or choose another --out")


Memory = Annotated[
    str | None, Option(metavar="SIZE", help="Memory for reading files: 512MB, 8GB. [default: half of what is free]")
]


def parse_memory(text: str) -> int:
    """Turn "512MB", "1.5 GiB" or a plain number of bytes into bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if match is None or (match[3] and not match[2]):
        raise ConfigError(f"--memory {text!r} is not a size; write it as 512MB or 2GB")
    units = _BINARY_UNITS if match[3] else _UNITS
    return int(float(match[1]) * units[match[2]])
