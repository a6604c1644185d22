"""`itransf relation`: what a relation is made of, and which relations it mirrors or repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from itransf.cli.concepts import format_uses
from itransf.cli.options import AsJson, Device, DeviceName, RunFolder, open_run
from itransf.cli.output import fill, format_number, make_console, make_table, print_json

ROLES = {
    "inverse": "inverse of",
    "equivalent": "same as",
    "broader": "sub-relation of",
    "narrower": "contains",
}
KINDS = ("score", "matrices", "translation", "attention")  # of figures; the last where there are concepts


def show_relation(
    run: RunFolder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The relation: name or label.")],
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="How many candidates for each role.")] = 3,
    device: Device = DeviceName.auto,
    as_json: AsJson = False,
) -> None:
    """Show a relation's concepts and its inverse, equivalent and sub-relation candidates.

    All scores are read from the trained model; no triple is counted.
    """
    profile = open_run(run, device).relation(name, top=top).to_dict()
    if as_json:
        print_json(profile)
    else:
        show_profile(profile, make_console())


def show_profile(profile: Mapping[str, Any], console: Console) -> None:
    """Print what `RelationProfile.to_dict` returns."""
    console.print(Text(profile["sentence"]))
    console.print()
    for side in ("head", "tail"):
        if profile[side]:
            console.print(Text(f"{side.capitalize()} concepts  {format_uses(profile[side])}"))
    console.print(Text(f"Symmetric      {format_number(profile['symmetric'], 3)}"))
    console.print()
    console.print(tabulate_roles(profile))
    compared = "; the attention is shown for comparison" if profile["head"] else ""
    console.print(f"Scores are at most 1 and come from matrices and translations alone{compared}.")


def tabulate_roles(profile: Mapping[str, Any]) -> Table:
    """Return a table of candidates for each role, best first."""
    kinds = KINDS if profile["head"] else KINDS[:-1]
    table = make_table("May be", "Relation", *(kind.capitalize() for kind in kinds), names=2)
    for key, role in ROLES.items():
        fill(table, list_candidates(role, profile[key], kinds))
    return table


def list_candidates(role: str, candidates: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a table's rows for one role, which is named once."""
    return [
        (
            role if place == 0 else "",
            found["label"],
            *("" if found[kind] is None else format_number(found[kind], 3) for kind in kinds),
        )
        for place, found in enumerate(candidates)
    ]
