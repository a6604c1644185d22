"""Checking what people give where a whole number is asked for."""

from __future__ import annotations

import operator
from typing import Any

from itransf.errors import ConfigError


def check_count(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """Return a count as a plain int; whole numbers of numpy are fine, true and false are not.

    Args:
        name: What is counted, for the message.
        value: What was given.
        least: The smallest that makes sense.
        most: The largest, if there is one.

    Raises:
        ConfigError: It is no whole number, too small or too large.
    """
    try:
        count = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = least - 1
    if count < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}")
    if most is not None and count > most:
        raise ConfigError(f"{name} must be at most {most:,}, not {count:,}")
    return count
