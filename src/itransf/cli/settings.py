"""`itransf settings`: everything that can be set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from itransf.cli.options import AsJson
from itransf.cli.output import make_console, print_json
from itransf.config import Setting, describe_settings
from itransf.errors import ConfigError, did_you_mean

PAGE = """# Settings

Everything that `--set`, a TOML file for `--config`, or `settings=` and `config=` in Python may hold, with what it is
where nobody says anything. Most trainings start from other values: a preset's, or those that [fit the
graph](defaults.md); `itransf info RUN` shows what a run was trained with. The other models have some of the settings of
ITransF, which are listed under `model`.

Written by `itransf settings --markdown`.
"""


def show_settings(
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Only those with this in their key.")] = "",
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page docs/settings.md.")] = False,
    as_json: AsJson = False,
) -> None:
    """List what can be set, with defaults and meanings."""
    if markdown and as_json:
        raise ConfigError("--markdown and --json do not go together: choose one")
    everything = describe_settings("itransf")
    found = [setting for setting in everything if text.casefold() in setting.key]
    if not found:
        hint = did_you_mean(text, [setting.key for setting in everything])
        raise ConfigError(f"no setting has {text!r} in its key.{hint or ' Without it all are listed.'}")
    if as_json:
        print_json([setting._asdict() for setting in found])
    elif markdown:
        print(write_page(found), end="")
    else:
        show_list(found, make_console())


def show_list(settings: Sequence[Setting], console: Console) -> None:
    """Print the settings one below the other."""
    for setting in settings:
        line = Text.assemble((setting.key, "bold"), f" = {write_value(setting.default)}  ", (setting.values, "dim"))
        console.print(line, soft_wrap=True)
        console.print(Padding(Text(setting.description.replace("`", "")), (0, 0, 0, 4)))


def write_page(settings: Sequence[Setting]) -> str:
    """Return the settings as a page."""
    lines = [PAGE]
    section = None
    for setting in settings:
        before, dot, _ = setting.key.rpartition(".")
        if dot and before != section:
            section = before
            lines.append(f"\n## {section}\n")
        lines.append(f"- `{setting.key} = {write_value(setting.default)}` ({setting.values}): {setting.description}")
    return "\n".join(lines) + "\n"


def write_value(value: Any) -> str:
    """Return a value as TOML has it."""
    return json.dumps(value)
