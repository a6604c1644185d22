"""Choosing the relations to look at: by name or pattern, by domain, by frequency."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt

from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError, check_count
from itransf.interpret.attention import Attention

_WILD = frozenset("*?[")


def choose_relations(
    attention: Attention, patterns: Iterable[str] = (), domain: str | None = None, top: int | None = None
) -> list[str]:
    """Return the names of the relations that fit, most frequent first; those asked for by name in that order.

    Args:
        attention: Knows the relations and how frequent they are.
        patterns: Names or labels, or patterns of them such as "*capital*"; a relation has to fit one.
        domain: The beginning of the name, up to a sign that parts words: "/film" is "/film/film/genre", not "/films".
        top: Of those that fit, so many of the most frequent.

    Raises:
        DataError: A name is not known, or nothing fits.
    """
    vocabulary = attention.relations
    asked = list(patterns)
    numbers = find_matching(vocabulary, attention.counts, asked) if asked else attention.find()
    if domain is not None:
        numbers = [number for number in numbers if is_within(vocabulary.name(number), domain)]
        if not numbers:
            raise DataError(
                f"no relation{' asked for' * bool(asked)} lies in the domain {domain!r}; {show_domains(vocabulary)}"
            )
    if top is not None:
        most = check_count("top", top, least=1)
        frequent = set(sorted(numbers, key=lambda number: -attention.counts[number])[:most])
        numbers = [number for number in numbers if number in frequent]
    return [vocabulary.name(number) for number in numbers]


def find_matching(vocabulary: Vocabulary, counts: npt.NDArray[np.int64], patterns: Sequence[str]) -> list[int]:
    """Return the relations with these names, labels or patterns, each once; those of a pattern most frequent first."""
    found: dict[int, None] = {}
    order: list[int] = np.argsort(-counts, kind="stable").tolist()
    for pattern in patterns:
        if not _WILD & set(pattern) or pattern in vocabulary:
            found[vocabulary.index(pattern)] = None
            continue
        fitting = [number for number in order if _fits(vocabulary, number, pattern)]
        if not fitting:
            raise DataError(f"no relation fits {pattern!r}; * stands for any letters, ? for one, [ab] for a or b")
        found |= dict.fromkeys(fitting)
    return list(found)


def is_within(name: str, domain: str) -> bool:
    """Return whether a name begins with a domain, and the domain ends where a word does."""
    if not domain or not name.startswith(domain):
        return False
    rest = name[len(domain) :]
    return not rest or not domain[-1].isalnum() or not rest[0].isalnum()


def show_domains(vocabulary: Vocabulary, most: int = 5) -> str:
    """Say which beginnings the names have."""
    parts = [name.split("/") for name in vocabulary.names if name.startswith("/")]
    domains = sorted({f"/{part[1]}" for part in parts})
    if not domains:
        return f"it is the beginning of a name, and names look like {vocabulary.name(0)!r}"
    more = f" and {len(domains) - most} more" if len(domains) > most else ""
    return f"there are {', '.join(domains[:most])}{more}"


def _fits(vocabulary: Vocabulary, number: int, pattern: str) -> bool:
    return fnmatchcase(vocabulary.name(number), pattern) or fnmatchcase(vocabulary.label(number), pattern)
