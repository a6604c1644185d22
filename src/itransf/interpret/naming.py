"""Users of concepts, and names of concepts: those given by people, or suggestions from the relations that use them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral

from itransf.data.vocabulary import Vocabulary
from itransf.errors import ConfigError, did_you_mean
from itransf.interpret.attention import Attention, strongest_first

LONGEST = 80
"""Maximum number of characters of a name."""
LETTERS = {"head": "H", "tail": "T"}
"""Letters of the sides; the only part of a relation has none."""
LEAST_WEIGHT = 0.05
"""The weight from which a concept counts as used when its users are listed."""
WEAK_USERS = 5
"""Users listed for a concept without strong users."""
Place = tuple[int, int]
"""A part of a relation by their numbers: part, relation."""
_FILLING = frozenset(
    {"a", "an", "and", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it", "its", "of", "on"}
    | {"or", "s", "the", "this", "to", "was", "with"}
)
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECOND = 0.6  # a second word or side is named if its weight is at least this share of the first's
_COVERED = 1 / 3  # share of a concept's weight on the relations that have a word in common


@dataclass(frozen=True)
class Use:
    """One part of a relation that uses a concept; `side` is the part."""

    relation: str
    label: str
    side: str
    weight: float

    @property
    def name(self) -> str:
        """The label with the side, such as "capital_of (H)"; the label alone where a relation has no sides."""
        return call_part(self.label, self.side)


def find_users(attention: Attention, concept: int, weak: int = 0) -> list[Place]:
    """Return the parts of relations that use a concept, strongest first; `weak` others if none is strong."""
    flat = attention.weights[:, :, concept].reshape(-1)  # (p, r) -> (p r,)
    order = strongest_first(flat)
    strong = [place for place in order if abs(flat[place]) >= LEAST_WEIGHT]
    return [divmod(place, attention.weights.shape[1]) for place in strong or order[:weak]]


def describe_use(attention: Attention, concept: int, part: int, relation: int) -> Use:
    """Return the use of a concept by one part of a relation, given by their numbers."""
    names, weight = attention.relations, float(attention.weights[part, relation, concept])
    return Use(names.name(relation), names.label(relation), attention.parts[part], weight)


def check_names(names: Mapping[int, str], concepts: int) -> dict[int, str]:
    """Return names of concepts, each checked, by number."""
    if not isinstance(names, Mapping):
        raise ConfigError(f"{names!r} does not name concepts; map numbers to names, such as {{3: 'located in'}}")
    return {check_concept(concept, concepts): check_name(concept, name) for concept, name in names.items()}


def check_name(concept: int, name: str) -> str:
    """Return the name of a concept, with single spaces between its words; an empty one removes the name.

    Raises:
        ConfigError: The name is not text, too long, or a number.
    """
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


def call_part(label: str, *parts: str) -> str:
    """Return the label of a relation with the letters of its sides, such as "capital_of (H)"."""
    letters = sorted(LETTERS[part] for part in parts if part in LETTERS)
    return f"{label} ({', '.join(letters)})" if letters else label


def name_concepts(attention: Attention, names: Mapping[int, str] | None = None) -> dict[int, str]:
    """Return the name of every concept by number: the one that it was given, or else a suggestion."""
    users = [
        [describe_use(attention, concept, *place) for place in find_users(attention, concept, WEAK_USERS)]
        for concept in range(attention.weights.shape[2])
    ]
    return {**dict(enumerate(suggest_names(users, attention.relations))), **(names or {})}


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
        sides.setdefault(use.label, []).append(use.side)
    room = LONGEST // max(len(sides), 1) - 9
    short = {label: label if len(label) <= room else "…" + label[-room:] for label in sides}
    named = [call_part(short[label], *parts) for label, parts in sides.items()]
    return " + ".join(named) or "unused"
