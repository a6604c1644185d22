"""Layers of settings, not merged yet: a TOML file, or `a.b=value` strings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from itransf.errors import ConfigError

BARE_NUMBER = re.compile(r"[+-]?(\.\d+|\d+\.)(e[+-]?\d+)?", re.IGNORECASE)  # as people write it, and TOML does not


@dataclass(frozen=True)
class Layer:
    """Settings and where they were found, for messages."""

    source: str
    content: Mapping[str, Any]


def read_layer(path: Path) -> Layer:
    """Read a TOML file of settings."""
    try:
        return Layer(str(path), tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such config file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None


def assignments_layer(assignments: Iterable[str]) -> Layer:
    """Turn strings such as `training.epochs=50` into a layer; values are TOML, `.5` is 0.5, bare words are strings."""
    content: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"setting {text!r}: write it as section.key=value, for example training.epochs=50")
        *sections, last = key.strip().split(".")
        place = content
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ConfigError(f"setting {text!r}: {section!r} is set to a value above and cannot hold keys")
        place[last] = _parse_value(value.strip())
    return Layer("settings", content)


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return float(text) if BARE_NUMBER.fullmatch(text) else text
