"""Telling text that can be kept and written from anything else."""

from __future__ import annotations

import reprlib

from itransf.errors import DataError

_MISSING = frozenset({"None", "nan", "<NA>", "NaT"})  # how Python, numpy and pandas write that there is nothing


def check_text(value: object, kind: str, where: str) -> str:
    """Return a value if it is text that can be written as UTF-8, else refuse it.

    Args:
        value: What was given.
        kind: What it is to be ("head", "label"), for messages.
        where: Where it stands, for messages.
    """
    if not isinstance(value, str):
        raise DataError(f"{where}: the {kind} {reprlib.repr(value)} is not text; give it as a string")
    if not is_writable(value):
        raise DataError(
            f"{where}: the {kind} {value!r} holds half a character (a lone surrogate), which no file can hold; "
            "mend it where the text was decoded"
        )
    return value


def is_writable(text: str) -> bool:
    """Return whether text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_missing(value: object) -> bool:
    """Return whether a value stands for none: None, or what is not a number."""
    return not isinstance(value, str) and str(value) in _MISSING
