"""The names of entities or relations, their numbers, and optional labels for people to read."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from itransf.data.known import Integers
from itransf.data.search import NameIndex
from itransf.errors import DataError, did_you_mean, list_similar, name_first

_SHOWN = 5  # names listed when a label is ambiguous
_LISTED = 12  # names up to which all are listed when one is unknown
_MISSING = frozenset({"None", "nan", "<NA>", "NaT"})  # missing values as Python, numpy and pandas write them


class Vocabulary:
    """An immutable, numbered list of names; a name may have a label that is shown instead.

    Args:
        names: All names, each once; the position is the number.
        labels: Labels by name; names that are not in the vocabulary are ignored, and so are labels that are empty or
            missing (None, NaN).
        kind: What the names refer to ("entity", "relation"), for messages.

    Attributes:
        names: All names in the order of their numbers.
        kind: What the names refer to.
        labels: The labels that were given, by name.
    """

    def __init__(self, names: Sequence[str], labels: Mapping[str, str] | None = None, kind: str = "entity") -> None:
        self.names, self.kind = tuple(names), kind
        self._numbers = {name: number for number, name in enumerate(self.names)}
        if len(self._numbers) != len(self.names):
            twice = next(name for number, name in enumerate(self.names) if self._numbers[name] != number)
            raise DataError(f"the {kind} {twice!r} is listed more than once; give each name once")
        own = {name: label for name, label in (labels or {}).items() if name in self._numbers and not is_missing(label)}
        texts = {name: label for name, label in own.items() if check_text(label, "label", f"{kind} {name!r}")}
        self.labels: Mapping[str, str] = MappingProxyType(texts)

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[tuple[str, ...], dict[str, str], str]]:
        return Vocabulary, (self.names, dict(self.labels), self.kind)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, text: object) -> bool:
        return isinstance(text, str) and self.find(text) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return (self.names, self.kind, self.labels) == (other.names, other.kind, other.labels)

    def __hash__(self) -> int:
        return hash((self.names, self.kind))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} names, {len(self.labels):,} labels, kind={self.kind!r})"

    def has_name(self, text: str) -> bool:
        """Return whether this is a name (a label does not count)."""
        return isinstance(text, str) and text in self._numbers

    def name(self, index: int) -> str:
        """Return the name with this number."""
        return self.names[index]

    def label(self, index: int) -> str:
        """Return the label of the name with this number, or the name where it has none."""
        name = self.names[index]
        return self.labels.get(name, name)

    def find(self, text: str) -> int | None:
        """Return the number of a name, else of a label; None when neither is known.

        Raises:
            DataError: Several names share the label.
        """
        if not isinstance(text, str):
            return None
        number = self._numbers.get(text)
        if number is not None:
            return number
        numbers = self._by_label.get(text, ())
        if len(numbers) > 1:
            names = name_first([repr(self.names[number]) for number in numbers], _SHOWN)
            raise DataError(
                f"{text!r} is the label of {len(numbers)} {self._plural}: {names}. Give one of these names instead."
            )
        return numbers[0] if numbers else None

    def index(self, text: str) -> int:
        """Return the number of a name, else of a label.

        Raises:
            DataError: It is neither; similar names are listed.
        """
        number = self.find(text)
        if number is None:
            hint = self._suggest(text) if isinstance(text, str) else " Names are text."
            raise DataError(f"unknown {self.kind} {text!r}.{hint}")
        return number

    def search(self, text: str, top: int) -> list[tuple[int, int, float]]:
        """Return the names that fit a text best by name or label; see `NameIndex.search`."""
        places = [*range(len(self)), *(self._numbers[name] for name in self.labels)]
        found: dict[int, tuple[int, int, float]] = {}
        for place, match, likeness in self._index.search(text, 2 * top):  # a name may be found twice
            found.setdefault(places[place], (places[place], match, likeness))
        return list(found.values())[:top]

    @cached_property
    def _index(self) -> NameIndex:
        """The names, then the labels, for searching."""
        return NameIndex([*self.names, *self.labels.values()])

    def with_labels(self, labels: Mapping[str, str]) -> Vocabulary:
        """Return the same names with these labels added; a new label replaces the old one."""
        return Vocabulary(self.names, {**self.labels, **labels}, self.kind)

    def note_new(self, names: Sequence[str]) -> list[str]:
        """Note the first of some new names, each with a similar name that is known; nothing if there are none."""
        known, told = [*self.names, *self._by_label], []
        for name in names[:_SHOWN]:
            near = list_similar(name, known)
            told.append(f"{name} (similar to {near[0]!r})" if near else name)
        return [f"New {self._plural}: {name_first([*told, *names[_SHOWN:]], _SHOWN)}."] if told else []

    @property
    def _plural(self) -> str:
        return "entities" if self.kind == "entity" else f"{self.kind}s"

    @cached_property
    def _by_label(self) -> dict[str, list[int]]:
        """The numbers behind each label."""
        numbers: dict[str, list[int]] = {}
        for name, label in self.labels.items():
            numbers.setdefault(label, []).append(self._numbers[name])
        return {label: sorted(found) for label, found in numbers.items()}

    def _suggest(self, text: str) -> str:
        """Return " Did you mean ...?" or else what there is, or how to list it."""
        near = did_you_mean(text, [*self.names, *self._by_label])
        if near:
            return near
        if 0 < len(self) <= _LISTED:
            return f" There are: {', '.join(repr(self.label(number)) for number in range(len(self)))}."
        return f" There are {len(self):,} {self._plural}; 'itransf find RUN TEXT' searches those of a run."


def note_similar(names: Sequence[str], uses: Integers, kind: str) -> tuple[str, ...]:
    """Note names that differ only in case, blanks, hyphens or underscores.

    Args:
        names: All names.
        uses: Numbers of the names in all triples.
        kind: What the names refer to.
    """
    plain = pc.utf8_lower(pc.replace_substring_regex(pa.array(names, pa.string()), r"[\s\x{a0}]+|[_-]", " "))
    numbers = plain.dictionary_encode().indices.to_numpy()
    same = np.flatnonzero(np.bincount(numbers, minlength=1)[numbers] > 1)
    groups = list(dict.fromkeys(numbers[same].tolist()))
    shown = [same[numbers[same] == group][:_SHOWN] for group in groups[:_SHOWN]]
    told = [", ".join(f"{names[place]!r} ({np.count_nonzero(uses == place):,})" for place in group) for group in shown]
    return (
        f"{len(same):,} {kind} differ only in case, blanks, hyphens or underscores from another (with their triples): "
        f"{'; '.join(told)}{'; ...' * (len(groups) > _SHOWN)}. If they mean the same, write them alike.",
    )[: len(same)]


def check_text(value: object, kind: str, where: str) -> str:
    """Return a value if it is text that can be written as UTF-8, else refuse it.

    Args:
        value: The value.
        kind: What it should be ("head", "label"), for messages.
        where: Its place, for messages.
    """
    if not isinstance(value, str):
        raise DataError(f"{where}: the {kind} {reprlib.repr(value)} is not text; give it as a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"{where}: the {kind} {value!r} holds half a character (a lone surrogate) and cannot be written to a file; "
            "correct it where the text was decoded"
        ) from None
    return value


def is_missing(value: object) -> bool:
    """Return whether a value is None or NaN."""
    return not isinstance(value, str) and str(value) in _MISSING
