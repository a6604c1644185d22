"""Search of names and labels by their letters, typos allowed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from itransf.data.known import Floats, Integers, PairIndex, sort_distinct

MATCHES = ("exact", "beginning", "word", "similar")
LEAST_LIKENESS = 0.7  # ratio of common letters from which a name is similar
_COMPARED = 50  # names with the most trigrams in common, which are compared letter by letter
_LETTER = 0x110000  # all characters have smaller numbers


@dataclass(frozen=True)
class FoundName:
    """An entity or a relation that fits a text.

    Attributes:
        kind: "entity" or "relation".
        name: Its name.
        label: Its label, or the name.
        match: How name or label fit: "exact", "beginning", "word" (a word begins so) or "similar".
        triples: Number of its triples in train.
    """

    kind: str
    name: str
    label: str
    match: str
    triples: int

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)


class NameIndex:
    """Texts by their trigrams; case, accents and punctuation are ignored.

    Args:
        texts: Texts to search, in the order of their numbers.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = [simplify(text) for text in texts]
        lines = [f"\n {words} " for words in self._words]
        self._joined = "".join([*lines, "\n\n\n"])
        self._lengths = np.array([len(line) for line in lines], dtype=np.int64)
        self._starts = np.cumsum(self._lengths) - self._lengths
        trigrams, places = find_trigrams(self._joined)
        sizes = (_LETTER**3, len(texts))
        self._trigrams = PairIndex(np.zeros_like(trigrams), trigrams, self._find_owners(places), sizes)

    def search(self, text: str, top: int) -> list[tuple[int, int, float]]:
        """Return the texts that fit best, best first: number, place of the match in `MATCHES`, likeness."""
        wanted = simplify(text)
        likeness = self._measure_likeness(wanted)
        found: dict[int, tuple[int, int, float]] = {}
        patterns = (f"\n {re.escape(wanted)} (?=\n)", f"\n {re.escape(wanted)}", f" {re.escape(wanted)}")
        for match, pattern in enumerate(patterns):
            places = np.array([each.start() for each in re.finditer(pattern, self._joined)], dtype=np.int64)
            numbers = sort_distinct(self._find_owners(places))
            for number in numbers[np.argsort(-likeness[numbers], kind="stable")[: top + len(found)]].tolist():
                found.setdefault(number, (number, match, float(likeness[number])))
            if len(found) >= top:
                return list(found.values())[:top]
        near = np.arange(len(likeness))
        if len(near) > _COMPARED:
            near = np.argpartition(-likeness, _COMPARED)[:_COMPARED]
        ratios = {each: compare(wanted, self._words[each]) for each in near.tolist() if each not in found}
        similar = sorted((-ratio, number) for number, ratio in ratios.items() if ratio >= LEAST_LIKENESS)
        return [*found.values(), *((number, len(patterns), -ratio) for ratio, number in similar)][:top]

    def _find_owners(self, places: Integers) -> Integers:
        """Return the texts that these places of the joined text belong to."""
        return np.searchsorted(self._starts, places, side="right") - 1

    def _measure_likeness(self, wanted: str) -> Floats:
        """Return twice the share of trigrams that each text has in common with the wanted one."""
        trigrams = sort_distinct(find_trigrams(f" {wanted} ")[0])
        _, owners = self._trigrams.look_up(np.zeros_like(trigrams), trigrams)
        return np.asarray(2 * np.bincount(owners, minlength=len(self._lengths)) / (self._lengths + len(wanted)))


def simplify(text: str) -> str:
    """Return a text in lower case, without accents, its words separated by spaces."""
    if not text.isascii():
        text = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return re.sub(r"[\W_]+", " ", text.casefold()).strip() or text.strip()


def find_trigrams(text: str) -> tuple[Integers, Integers]:
    """Return the number of every three letters within a line, and its place."""
    letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(letters, 3)
    places = np.flatnonzero((windows != ord("\n")).all(axis=1))
    return windows[places] @ np.array([_LETTER**2, _LETTER, 1]), places


def compare(wanted: str, words: str) -> float:
    """Return the ratio of common letters of two texts, or of the first and a word of the second."""
    matcher, ratios = SequenceMatcher(b=wanted, autojunk=False), []
    for part in {words, *words.split()}:
        matcher.set_seq1(part)
        if matcher.real_quick_ratio() >= LEAST_LIKENESS:
            ratios.append(matcher.ratio() * (1.0 if part == words else 0.95))  # the whole before a part
    return max(ratios, default=0.0)
