"""Exceptions of the package, and the checks of arguments that raise them.

Every message says what is wrong, where, and what to do; the command line prints it without a traceback. A `UsageError`
means that the request was wrong (exit code 2); any other error is a failure (exit code 1).
"""

import heapq
import operator
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

_LIKENESS = 0.65  # ratio from which a word counts as near
_SUGGESTED = 3  # words in a suggestion
_SHORTLIST = 200  # words compared letter by letter


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


class DivergenceError(ITransFError):
    """A training whose loss or weights are no longer finite."""


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
        return f"{self.purpose} needs an optional dependency; in a clone of itransf: pip install '.[{self.extra}]'"


def is_out_of_memory(error: MemoryError | RuntimeError) -> bool:
    """Return whether the machine or its GPU is out of memory; torch says so only in the message."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(words in text for words in ("out of memory", "not enough memory"))


def name_count(count: int, noun: str) -> str:
    """Return a number of things, such as "1 relation" or "1,345 relations"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def name_first(words: Sequence[str], most: int) -> str:
    """Return the first words, and how many follow: "a, b and 3 more"."""
    rest = f" and {len(words) - most:,} more" if len(words) > most else ""
    return ", ".join(words[:most]) + rest


def did_you_mean(word: str, choices: Iterable[str], within: str = "") -> str:
    """Return " Did you mean 'a' or 'b'?" for choices spelt like `word`, else ""; `within` goes before each."""
    near = list_similar(word, choices)
    return f" Did you mean {' or '.join(repr(within + choice) for choice in near)}?" if near else ""


def list_similar(word: str, choices: Iterable[str]) -> list[str]:
    """Return the few choices that are spelt most like `word`.

    Case is ignored. The work is bounded: among a million choices only the most promising are compared letter by letter.
    """
    wanted = word.strip().casefold()
    compared = {c: SequenceMatcher(None, wanted, c.casefold()).ratio() for c in _shortlist(wanted, choices)}
    near = sorted((-ratio, choice) for choice, ratio in compared.items() if ratio >= _LIKENESS)
    return [choice for _, choice in near[:_SUGGESTED]]


def _shortlist(wanted: str, choices: Iterable[str]) -> list[str]:
    """Return the choices of a similar length that share most letter pairs with `wanted`."""
    # A ratio of 0.6 or more is out of reach when one word is longer than 7/3 of the other.
    least, most = len(wanted) * 3 / 7, len(wanted) * 7 / 3
    near = [choice for choice in choices if least <= len(choice) <= most] if wanted else []
    if len(near) <= _SHORTLIST:
        return near
    pairs = {wanted[start : start + 2] for start in range(max(len(wanted) - 1, 1))}
    find_pairs = re.compile("|".join(map(re.escape, pairs))).findall
    return heapq.nlargest(_SHORTLIST, near, key=lambda c: len(find_pairs(c.casefold())) / (len(c) + len(wanted)))


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
