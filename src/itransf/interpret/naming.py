"""Names of concepts: those that were given, and suggestions made of the relations that use a concept."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING

from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from itransf.interpret.sharing import Use

LONGEST = 80
"""Maximum number of characters of a name."""

LETTERS = {"head": "H", "tail": "T"}
"""Letters of the sides; the only part of a relation has none."""
_FILLING = frozenset(
    {"a", "an", "and", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it", "its", "of", "on"}
    | {"or", "s", "the", "this", "to", "was", "with"}
)
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECOND = 0.6  # a second word or side is named if its weight is at least this share of the first's
_COVERED = 1 / 3  # share of a concept's weight on the relations that have a word in common


def check_names(names: Mapping[int, str], concepts: int) -> dict[int, str]:
    """Return names of concepts, each checked, by number."""
    if not isinstance(names, Mapping):
        raise ConfigError(f"{names!r} does not name concepts; map numbers to names, such as {{3: 'located in'}}")
    return {check_concept(concept, concepts): check_name(concept, name, concepts) for concept, name in names.items()}


def check_name(concept: int, name: str, concepts: int) -> str:
    """Return the name of a concept without surplus spaces; an empty one removes the name.

    Raises:
        ConfigError: There is no such concept, or the name is not text, too long, or a number.
    """
    check_concept(concept, concepts)
    if not isinstance(name, str):
        raise ConfigError(f"the name of concept {concept} must be text, not {name!r}; an empty one removes it")
    tidy = " ".join(name.split())
    if len(tidy) > LONGEST or not tidy.isprintable():
        raise ConfigError(f"the name of concept {concept} must be printable and have at most {LONGEST} characters")
    if tidy.isdecimal():
        raise ConfigError(f"concept {concept} cannot be called {tidy!r}: numbers refer to concepts already")
    return tidy


def check_concept(concept: int, concepts: int) -> int:
    """Return a concept's number if there is such a concept."""
    if not isinstance(concept, Integral) or isinstance(concept, bool):
        raise ConfigError(f"{concept!r} is not the number of a concept; give a whole number")
    if not 0 <= concept < concepts:
        raise ConfigError(f"there is no concept {concept}; they are numbered 0 to {concepts - 1}")
    return int(concept)


def find_concept(concept: int | str, names: Mapping[int, str], concepts: int) -> int:
    """Return the number of a concept that is given by number or name.

    Args:
        concept: Number or name.
        names: Names that were given to concepts.
        concepts: Number of concepts.

    Raises:
        ConfigError: There is no such concept, or several have the name.
    """
    if not isinstance(concept, str | Integral) or isinstance(concept, bool):
        raise ConfigError(f"{concept!r} is not a concept; give its number or its name")
    if not isinstance(concept, str) or concept.strip().isdecimal():
        return check_concept(int(concept), concepts)
    found = [number for number, name in names.items() if name == concept.strip()]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(map(str, found))
        raise ConfigError(f"{concept!r} is the name of concepts {listed}; give the number of one of them")
    raise ConfigError(
        f"{concept!r} is not the name of a concept; give its number.{did_you_mean(concept, names.values())}"
    )


def call_concept(concept: int, names: Mapping[int, str]) -> str:
    """Return the name of a concept with its number, such as "located in (3)"; without a name "concept 3"."""
    return f"{names[concept]} ({concept})" if names.get(concept) else f"concept {concept}"


def call_part(label: str, letters: str) -> str:
    """Return the label of a relation with the letters of its sides, such as "capital_of (H)"."""
    return f"{label} ({letters})" if letters else label


def split_words(label: str) -> set[str]:
    """Return the words of a relation's label without function words, in lower case."""
    words = {word.lower() for part in _WORD.findall(label) for word in _HUMP.split(part)}
    return words - _FILLING


def suggest_names(users: Sequence[Sequence[Use]], relations: Vocabulary) -> list[str]:
    """Return a name for each concept from the relation sides that use it.

    Words that its strongest relation has in common with others name a concept, if these relations hold a third of its
    weight; else its strongest sides do. Concepts with the same name differ by their number.

    Args:
        users: Users of each concept, strongest first.
        relations: All relations; a word counts more the fewer of them have it.
    """
    labels = (relations.label(number) for number in range(len(relations)))
    frequencies = Counter(word for label in labels for word in split_words(label))
    return [find_common_words(uses, frequencies, len(relations)) or name_by_sides(uses) for uses in users]


def find_common_words(users: Sequence[Use], frequencies: Mapping[str, int], relations: int) -> str:
    """Return the one or two most specific words that the strongest user has in common with others, if there are any."""
    strength: dict[str, float] = {}
    for use in users:
        strength[use.label] = max(strength.get(use.label, 0.0), abs(use.weight))
    carriers: dict[str, list[float]] = {}
    for label, weight in strength.items():
        for word in sorted(split_words(label)):
            carriers.setdefault(word, []).append(weight)
    least = _COVERED * sum(strength.values())
    scores = {
        word: sum(weights) * math.log(1.0 + relations / max(frequencies.get(word, 1), 1))
        for word, weights in carriers.items()
        if len(weights) > 1 and sum(weights) >= least and word in split_words(users[0].label)
    }
    best = sorted(scores, key=lambda word: -scores[word])[:2]
    return " + ".join(word for word in best if scores[word] >= _SECOND * scores[best[0]])[:LONGEST]


def name_by_sides(users: Sequence[Use]) -> str:
    """Return the one or two strongest sides as a name."""
    strong = [use for use in users if abs(use.weight) >= _SECOND * abs(users[0].weight)][:2]
    sides: dict[str, list[str]] = {}
    for use in strong:
        sides.setdefault(use.label, []).append(LETTERS.get(use.side, ""))
    room = LONGEST // max(len(sides), 1) - 9
    named = [
        call_part(label if len(label) <= room else "…" + label[-room:], ", ".join(sorted(letters)))
        for label, letters in sides.items()
    ]
    return " + ".join(named) or "unused"
