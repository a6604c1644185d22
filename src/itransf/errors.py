"""Exceptions of the package, and the checks of arguments that raise them.

Every message says what is wrong, where, and what to do; the command line prints it without a traceback. A `UsageError`
means that the request was wrong (exit code 2); any other error is a failure (exit code 1).
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable
from typing import Any


class ITransFError(Exception):
    """Base class of all errors that this package raises."""


class UsageError(ITransFError):
    """A request that cannot be fulfilled."""


class DataError(UsageError):
    """Triples, names or data files that cannot be used."""


class ConfigError(UsageError):
    """A setting or argument that does not exist or has a wrong value."""


class CheckpointError(ITransFError):
    """A run folder whose files are damaged or cannot be read."""


class RunError(CheckpointError, UsageError):
    """A run folder that does not exist, is in use, or belongs to other data or settings."""


class WriteError(ITransFError):
    """A file or folder that cannot be written."""


class FetchError(ITransFError):
    """A dataset that is not on this machine and cannot be downloaded."""


class MissingExtraError(ITransFError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(purpose, extra)  # both arguments, so that it can be pickled
        self.purpose, self.extra = purpose, extra

    def __str__(self) -> str:
        return f"{self.purpose} needs an optional dependency: pip install 'itransf[{self.extra}]'"


def did_you_mean(word: str, choices: Iterable[str], within: str = "", count: int = 3) -> str:
    """Return " Did you mean 'a' or 'b'?" for the closest choices, or an empty string; `within` prefixes each.

    Upper and lower case are not distinguished.
    """
    folded = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(word.casefold(), list(folded), n=count, cutoff=0.6)
    close = [folded[choice] for choice in near]
    return f" Did you mean {' or '.join(repr(within + choice) for choice in close)}?" if close else ""


def check_count(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """Return a whole number as an int; numpy integers are accepted, booleans are not.

    Args:
        name: Name of the argument, for the message.
        value: Given value.
        least: Smallest allowed value.
        most: Largest allowed value, if there is one.

    Raises:
        ConfigError: The value is not a whole number or out of range.
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
