"""What can go wrong, as one small family of exceptions.

Every message says what is wrong, where, and what to do; the command line prints it without a traceback. What is under
`UsageError` was asked for wrongly and is mended by asking otherwise; anything else is a failure of something here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ITransFError(Exception):
    """Any failure this package foresees."""


class UsageError(ITransFError):
    """Something was asked for that cannot be."""


class DataError(UsageError):
    """Triples, names or files that cannot be used as they are."""


class ConfigError(UsageError):
    """A setting that does not exist or does not fit."""


class CheckpointError(ITransFError):
    """A run whose files are damaged or cannot be read."""


class RunError(CheckpointError, UsageError):
    """A run folder that is not there, is taken, or was trained with something else."""


class WriteError(ITransFError):
    """A file or folder that cannot be written."""


class FetchError(ITransFError):
    """A dataset that is not on this machine and could not be fetched."""


class MissingExtraError(ITransFError):
    """An optional dependency that is not installed."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(purpose, extra)  # what it is made of again when it is sent from one process to another
        self.purpose, self.extra = purpose, extra

    def __str__(self) -> str:
        return f"{self.purpose} needs an optional dependency: pip install 'itransf[{self.extra}]'"


def did_you_mean(word: str, choices: Iterable[str], within: str = "", count: int = 3) -> str:
    """Return " Did you mean 'a' or 'b'?" for near misses of `word`, or an empty string; `within` goes before each.

    What differs in upper and lower case alone is nearest.
    """
    folded = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(word.casefold(), list(folded), n=count, cutoff=0.6)
    close = [folded[choice] for choice in near]
    return f" Did you mean {' or '.join(repr(within + choice) for choice in close)}?" if close else ""
