"""Names for concepts: those a person gave, and suggestions made of the relations a concept serves."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral

from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, did_you_mean
from itransf.interpret.sharing import Use

LONGEST = 80
"""The most letters a name may have."""

LETTERS = {"head": "H", "tail": "T"}
_FILLING = frozenset(
    {"a", "an", "and", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it", "its", "of", "on"}
    | {"or", "s", "the", "this", "to", "was", "with"}
)
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECOND = 0.6  # a second word or side is told when it weighs at least this share of the first
_COVERED = 1 / 3  # of a concept's weight, held by the relations that have a word in common


def check_names(names: Mapping[int, str], concepts: int) -> dict[int, str]:
    """Return names for concepts, each checked, under plain numbers."""
    if not isinstance(names, Mapping):
        raise ConfigError(f"{names!r} names no concepts; give their numbers with the names, such as {{3: 'lies in'}}")
    return {check_concept(concept, concepts): check_name(concept, name, concepts) for concept, name in names.items()}


def check_name(concept: int, name: str, concepts: int) -> str:
    """Return a name for a concept without surplus spaces; an empty one takes the name back.

    Raises:
        ConfigError: There is no such concept, or the name is no text, too long or a number.
    """
    check_concept(concept, concepts)
    if not isinstance(name, str):
        raise ConfigError(f"the name of concept {concept} must be text, not {name!r}; an empty one takes it back")
    tidy = " ".join(name.split())
    if len(tidy) > LONGEST or not tidy.isprintable():
        raise ConfigError(f"the name of concept {concept} must be printable and of at most {LONGEST} letters")
    if tidy.isdecimal():
        raise ConfigError(
            f"concept {concept} cannot be called {tidy!r}: a number is what concepts are known by already"
        )
    return tidy


def check_concept(concept: int, concepts: int) -> int:
    """Return a concept's number if there is such a concept."""
    if not _is_number(concept):
        raise ConfigError(f"{concept!r} is no concept's number; give a whole number")
    if not 0 <= concept < concepts:
        raise ConfigError(f"there is no concept {concept}; they are numbered 0 to {concepts - 1}")
    return int(concept)


def find_concept(names: Mapping[int, str], concept: int | str) -> int:
    """Return a concept's number, told as it is or by the name a person gave."""
    if _is_number(concept):
        return int(concept)
    if not isinstance(concept, str):
        raise ConfigError(f"{concept!r} is no concept; give its number or its name")
    if concept.strip().isdecimal():
        return int(concept)
    found = [number for number, name in names.items() if name == concept.strip()]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(map(str, found))
        raise ConfigError(f"{concept!r} is the name of concepts {listed}; give the number of one of them")
    raise ConfigError(f"{concept!r} is no concept's name; give its number.{did_you_mean(concept, names.values())}")


def _is_number(concept: object) -> bool:
    return isinstance(concept, Integral) and not isinstance(concept, bool)


def call_concept(concept: int, names: Mapping[int, str]) -> str:
    """Return what people read for a concept: "concept 3", or "concept 3 (lies in)" where it has a name."""
    return f"concept {concept} ({names[concept]})" if names.get(concept) else f"concept {concept}"


def split_words(label: str) -> set[str]:
    """Return the words of a relation's label that say something, in lower case."""
    words = {word.lower() for part in _WORD.findall(label) for word in _HUMP.split(part)}
    return words - _FILLING


def suggest_names(users: Sequence[Sequence[Use]], relations: Vocabulary) -> list[str]:
    """Return a name for each concept from the relation sides it serves.

    Words that its relations have in common name a concept, if these relations hold a third of its weight and no
    other concept would be called the same; else its strongest sides do.

    Args:
        users: Who uses each concept, strongest first.
        relations: All relations; the fewer of them have a word, the more it says.
    """
    labels = (relations.label(number) for number in range(len(relations)))
    frequencies = Counter(word for label in labels for word in split_words(label))
    common = [find_common_words(uses, frequencies, len(relations)) for uses in users]
    twice = {name for name, count in Counter(common).items() if count > 1}
    return [
        name if name and name not in twice else name_by_sides(uses) for name, uses in zip(common, users, strict=True)
    ]


def find_common_words(users: Sequence[Use], frequencies: Mapping[str, int], relations: int) -> str:
    """Return the one or two words that say most about what several users have in common; nothing if little does."""
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
        if len(weights) > 1 and sum(weights) >= least
    }
    best = sorted(scores, key=lambda word: -scores[word])[:2]
    return " + ".join(word for word in best if scores[word] >= _SECOND * scores[best[0]])[:LONGEST]


def name_by_sides(users: Sequence[Use]) -> str:
    """Return the one or two strongest sides as a name."""
    strong = [use for use in users if abs(use.weight) >= _SECOND * abs(users[0].weight)][:2]
    sides: dict[str, list[str]] = {}
    for use in strong:
        sides.setdefault(use.label, []).append(LETTERS[use.side])
    room = LONGEST // max(len(sides), 1) - 9
    told = [
        f"{label if len(label) <= room else '…' + label[-room:]} ({', '.join(sorted(letters))})"
        for label, letters in sides.items()
    ]
    return " + ".join(told) or "unused"
