"""Every setting with its default, its values and its meaning, read from the classes that hold them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from itransf.config.building import name_kind
from itransf.config.sections import Config

ENTRY = re.compile(r" {4}(\w+): (.*)")


class Setting(NamedTuple):
    """What can be said of a setting.

    Attributes:
        key: As `--set` takes it, such as "training.epochs".
        default: What it is where nobody says anything.
        values: What it may be, in words.
        meaning: What it does.
    """

    key: str
    default: Any
    values: str
    meaning: str


def describe_settings(models: Mapping[str, type], model: str) -> list[Setting]:
    """Return all settings.

    Args:
        models: The classes of the models' own ones, by the model's name.
        model: Whose own ones are told.
    """
    hints = get_type_hints(Config)
    sections = {entry.name: hints[entry.name] for entry in fields(Config) if is_dataclass(hints[entry.name])}
    found = [
        Setting("seed", Config.seed, name_kind(int), "Of everything that is drawn at random."),
        Setting("model.name", model, " | ".join(models), "Which model."),
    ]
    for section, kind in {"model": models[model], **sections}.items():
        found += describe_section(section, kind)
    return found


def describe_section(section: str, kind: type) -> list[Setting]:
    """Return the settings of one section."""
    hints, meanings = get_type_hints(kind), read_meanings(kind)
    return [
        Setting(f"{section}.{entry.name}", entry.default, name_values(hints[entry.name]), meanings[entry.name])
        for entry in fields(kind)
    ]


def name_values(hint: Any) -> str:
    """Return what a setting may be, in words."""
    return " | ".join(map(str, get_args(hint))) if get_origin(hint) is Literal else name_kind(hint)


def read_meanings(kind: type) -> dict[str, str]:
    """Return what the documentation of a class, and of those it is made from, says of each attribute."""
    meanings: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        _, _, entries = inspect.cleandoc(each.__doc__ or "").partition("Attributes:\n")
        name = ""
        for line in entries.splitlines():
            begins = ENTRY.fullmatch(line)
            if begins:
                name, meanings[begins[1]] = begins[1], begins[2]
            elif name and line.strip():
                meanings[name] += f" {line.strip()}"
    return meanings
