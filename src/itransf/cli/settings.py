"""`itransf settings` and `itransf presets`: everything that can be set, and named settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated

from rich.padding import Padding
from rich.text import Text
from typer import Argument, Option

from itransf.cli.options import AsJson
from itransf.cli.output import Screen, tell
from itransf.config import DEFAULT_MODEL, Setting, describe_settings
from itransf.errors import ConfigError, did_you_mean
from itransf.presets import list_presets, read_preset


def show_settings(
    text: Annotated[str, Argument(metavar="[TEXT]", help="List only keys that contain this.")] = "",
    model: Annotated[str, Option(help="Model whose own settings are listed.")] = DEFAULT_MODEL,
    as_json: AsJson = False,
) -> None:
    """List all settings, with defaults and descriptions."""
    everything = describe_settings(model)
    found = [setting for setting in everything if text.casefold() in setting.key]
    if not found:
        hint = did_you_mean(text, [setting.key for setting in everything])
        raise ConfigError(f"no setting has {text!r} in its key.{hint or ' Without it all are listed.'}")
    tell([setting._asdict() for setting in found], as_json, lambda screen: show_list(found, screen))


def show_list(settings: Sequence[Setting], screen: Screen) -> None:
    """Print settings one below the other."""
    for setting in settings:
        default = f" = {json.dumps(setting.default)}  "
        screen.print(Text.assemble((setting.key, "bold"), default, (setting.values, "dim")), soft_wrap=True)
        auto = f" Without a preset: {setting.auto}" if setting.auto else ""
        screen.print(Padding(Text((setting.description + auto).replace("`", "")), (0, 0, 0, 4)))


def show_presets(
    name: Annotated[str | None, Argument(metavar="[NAME]", help="Print the settings of this preset.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the presets, or print one as TOML.

    The printed settings can be saved, changed and given to 'itransf train --config'.
    """
    if name is not None:
        content = read_preset(name).content
        tell(content, as_json, lambda screen: screen.say(read_text(name).rstrip("\n")))
        return
    titles = {preset: find_title(read_text(preset)) for preset in list_presets()}
    tell(list(titles), as_json, lambda screen: screen.tabulate(("Preset", "Description"), titles.items(), names=2))


def read_text(name: str) -> str:
    """Return the file of a preset, with its comments."""
    return files("itransf.presets").joinpath(f"{name}.toml").read_text(encoding="utf-8")


def find_title(text: str) -> str:
    """Return the comment in the first line of a preset, if there is one."""
    first = text.partition("\n")[0]
    return first.removeprefix("#").strip() if first.startswith("#") else ""
