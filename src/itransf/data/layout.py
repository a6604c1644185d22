"""How a text file lays out its triples: separator, quoting, header, order of the columns."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from itransf.data.contents import strip_compression
from itransf.errors import DataError, did_you_mean

SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe", " ": "space"}
"""What may stand between columns, most telling first: a tab is hardly ever part of a name, a space often."""

_PLAIN_HEADERS = (("head", "relation", "tail"), ("subject", "predicate", "object"))
_HEADER_WORDS = (
    frozenset({"head", "h", "head_id", "head_entity", "subject", "subj", "s", "source", "src", "from", "entity1"}),
    frozenset({"relation", "r", "rel", "relation_id", "relation_type", "predicate", "pred", "p", "property"}),
    frozenset({"tail", "t", "tail_id", "tail_entity", "object", "obj", "o", "target", "dst", "to", "entity2"}),
)
csv.field_size_limit(2**31 - 1)  # Python's own reader refuses names of more than 131,072 letters
_SAMPLE_LINES = 100
_SAMPLE_BYTES = 2**20


@dataclass(frozen=True)
class Layout:
    """How one file is to be read.

    Attributes:
        separator: The character between columns.
        quoted: Whether a field may stand in double quotes.
        skip: Lines before the first triple (a header, and what stands above it).
        order: The places of head, relation and tail among the columns.
        names: What the header calls the columns, where it names them.
    """

    separator: str
    quoted: bool
    skip: int = 0
    order: tuple[int, int, int] = (0, 1, 2)
    names: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.names) or len(self.order)


def detect_layout(
    content: bytes, name: str, where: str, separator: str | None = None, header: bool | None = None
) -> Layout:
    """Find out how a file is laid out from its first lines.

    Args:
        content: The file's bytes.
        name: Its name, whose ending tells about quoting.
        where: What to call it in messages.
        separator: The character between columns, or its name; detected if not given.
        header: Whether the first line names the columns; detected if not given.
    """
    quoted = strip_compression(name).lower().endswith(".csv")
    lines = _sample_lines(content)
    mark = (
        _detect_separator([line for _, line in lines], quoted, where, header)
        if separator is None
        else parse_separator(separator)
    )
    if not lines:
        return Layout(mark, quoted)
    number, first = lines[0]
    words = split_line(first, mark, quoted)
    order = None if header is False else find_columns(words)
    if order is not None:
        return Layout(mark, quoted, number, order, tuple(words))
    widths = {len(split_line(line, mark, quoted)) for _, line in lines}
    if len(widths) == 1 and len(words) > 3 and mark != " ":  # not a stray separator: there are more columns
        raise DataError(
            f"{where}, line {number}: {len(words)} columns instead of 3 (head, relation, tail), and no header that "
            "says which; name them in the first line (the others are left out), or keep only three"
        )
    return Layout(mark, quoted, number) if header else Layout(mark, quoted)


def parse_separator(text: str) -> str:
    r"""Return the character a person means by "tab", "\t", "," and the like."""
    if not isinstance(text, str):
        raise DataError(f"the separator {text!r} is not text; give a character such as ',' or a word such as 'tab'")
    for mark, word in SEPARATORS.items():
        if text in (mark, word, repr(mark)[1:-1]):
            return mark
    if len(text) == 1 and text not in "\n\r\"'" and text.isascii():
        return text
    raise DataError(
        f"the separator {text!r} is not one character; give a character or one of "
        f"{', '.join(SEPARATORS.values())}.{did_you_mean(text, SEPARATORS.values())}"
    )


def find_columns(words: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the places of head, relation and tail if the words, however many, plainly name them, else None."""
    plain = [re.sub(r"[\s-]+", "_", word.strip(' "').lower()) for word in words]
    for meanings in (*([{name} for name in names] for names in _PLAIN_HEADERS), _HEADER_WORDS):
        places = [[place for place, word in enumerate(plain) if word in known] for known in meanings]
        if all(len(found) == 1 for found in places):
            return places[0][0], places[1][0], places[2][0]
    return None


def split_line(line: str, separator: str, quoted: bool) -> list[str]:
    """Return the fields of one line."""
    if quoted:
        return next(csv.reader([line], delimiter=separator), [])
    return line.split(separator)


def _sample_lines(content: bytes) -> list[tuple[int, str]]:
    """Return the first lines that are not blank, each with its number from 1."""
    sample = content[:_SAMPLE_BYTES].splitlines()
    if len(content) > _SAMPLE_BYTES and len(sample) > 1:
        sample.pop()  # it may have been cut in two
    decoded = ((number, line.decode("utf-8-sig", "replace")) for number, line in enumerate(sample, start=1))
    return list(islice(((number, line) for number, line in decoded if line), _SAMPLE_LINES))


def _detect_separator(lines: Sequence[str], quoted: bool, where: str, header: bool | None) -> str:
    """Return the separator under which the first line names the columns, else most lines have three."""
    if not lines:
        return "\t"
    if header is not False:
        for mark in SEPARATORS:
            if find_columns(split_line(lines[0], mark, quoted)) is not None:
                return mark
    widths = {mark: Counter(len(split_line(line, mark, quoted)) for line in lines) for mark in SEPARATORS}
    # Of equals the first. A space also parts names: it counts for less than half of any other mark.
    best = max(SEPARATORS, key=lambda mark: widths[mark][3] * (1 if mark == " " else 2))
    if widths[best][3]:
        return best
    for mark, counter in widths.items():
        # Not three columns, but always as many: the reader will say how many there are.
        if len(counter) == 1 and 1 not in counter:
            return mark
    raise DataError(
        f"{where}, line 1: no separator found in {lines[0][:60]!r}; a triple is head, relation, tail, "
        f"separated by a {', '.join(SEPARATORS.values())}; for any other separator, say which"
    )
