"""Settings written as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def format_toml(content: Mapping[str, Any]) -> str:
    """Write nested settings as TOML (only what settings need: numbers, text, booleans, sections)."""
    plain = [f"{key} = {_format_value(value)}" for key, value in content.items() if not isinstance(value, Mapping)]
    sections = [
        f"\n[{key}]\n" + "\n".join(f"{name} = {_format_value(value)}" for name, value in section.items())
        for key, section in content.items()
        if isinstance(section, Mapping)
    ]
    return "\n".join([*plain, *sections]) + "\n"


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{"".join(map(_escape, value))}"'
    return repr(value)


def _escape(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    is_control = ord(letter) < 0x20 or ord(letter) == 0x7F
    return f"\\u{ord(letter):04x}" if is_control else letter
