"""`itransf presets`: named settings."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

import typer
from rich.text import Text

from itransf.cli.options import AsJson
from itransf.cli.output import fill, make_console, make_table, print_json
from itransf.presets import list_presets, read_preset


def show_presets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this one's settings.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the presets, or print one as TOML.

    What is printed can be saved, changed and given to 'itransf train --config'.
    """
    if name is not None:
        content = read_preset(name).content
        if as_json:
            print_json(content)
        else:
            make_console().print(Text(read_text(name)), soft_wrap=True, end="")
        return
    titles = {preset: find_title(read_text(preset)) for preset in list_presets()}
    if as_json:
        print_json(list(titles))
        return
    table = make_table("Preset", "Settings for", names=2)
    make_console().print(fill(table, titles.items()))


def read_text(name: str) -> str:
    """Return a preset's file as it is, with the remarks in it."""
    return files("itransf.presets").joinpath(f"{name}.toml").read_text(encoding="utf-8")


def find_title(text: str) -> str:
    """Return the remark in a preset's first line, if there is one."""
    first = text.partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""
