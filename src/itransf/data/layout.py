"""Layout of a table: separator, quotes, header words, and which columns are read."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import pyarrow as pa

from itransf.data.archives import strip_compression
from itransf.errors import DataError, did_you_mean

TRIPLE = ("head", "relation", "tail")

SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe", " ": "space"}
"""Possible separators, most telling first: a tab is hardly ever part of a name, a space often."""

csv.field_size_limit(2**31 - 1)  # Python's own reader refuses names of more than 131,072 letters
_HEADER_WORDS: tuple[dict[str, set[str]], ...] = (
    {"head": {"head"}, "relation": {"relation"}, "tail": {"tail"}, "label": {"label"}},
    {"head": {"subject"}, "relation": {"predicate"}, "tail": {"object"}, "label": {"label"}},
    {
        "label": {"label", "is_true", "truth"},
        "head": {"head", "h", "head_id", "head_entity", "subject", "subj", "s", "source", "src", "from", "entity1"},
        "relation": {"relation", "r", "rel", "relation_id", "relation_type", "predicate", "pred", "p", "property"},
        "tail": {"tail", "t", "tail_id", "tail_entity", "object", "obj", "o", "target", "dst", "to", "entity2"},
    },
)
_OTHER_FORMATS = {
    "JSON": (".json", ".jsonl", ".ndjson", ".jsonld"),
    "Excel": (".xlsx", ".xls", ".xlsm", ".ods"),
    "RDF": (".nt", ".nq", ".ttl", ".rdf", ".owl", ".n3", ".trig"),
}
_STATEMENT = re.compile(rb"\s*(<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+(<|_:|\").*\.\s*(#.*)?")  # a line of N-Triples
_SAMPLE_LINES = 100
_SAMPLE_BYTES = 2**20
_SHOWN = 8  # columns listed that were left out


class Remark(str):
    """A note that says how something was read; any other note may point to a mistake."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Columns of text, with the place of each row in the source.

    Attributes:
        data: String columns without missing values.
        source: Name of the source for messages: a path, or "train".
        locate: Function from a row (numbered from 0) to its place in the source, such as "train.txt, line 12".
        notes: Findings of the reader, as plain sentences.
        header: The header's words, empty where there is no header that names the columns.
        absent: Whether there is no such table; the source says where it would be.
    """

    data: pa.Table
    source: str
    locate: Callable[[int], str]
    notes: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    absent: bool = False

    def __len__(self) -> int:
        return len(self.data)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the rows as tuples."""
        return list(zip(*(column.to_pylist() for column in self.data.columns), strict=True))


@dataclass(frozen=True)
class Layout:
    """Layout of one text file.

    Attributes:
        separator: Character between columns.
        quoted: Whether a field may be in double quotes.
        columns: Position in the file of each column that is read, by its name.
        skip: Number of lines before the first row.
        header: The header's words, where they name the columns.
    """

    separator: str
    quoted: bool
    columns: dict[str, int]
    skip: int = 0
    header: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of columns in the file."""
        return len(self.header or self.columns)


def detect_layout(
    content: bytes,
    where: str,
    wanted: Sequence[str] = TRIPLE,
    optional: Sequence[str] = (),
    separator: str | None = None,
    header: bool | None = None,
) -> Layout:
    """Detect the layout of a text file from its first lines.

    Args:
        content: The file's bytes.
        where: The file's name; quotes have a meaning where it ends in .csv.
        wanted: Names of the columns.
        optional: Columns among them that may be missing.
        separator: Character between columns, or its name; detected if not given.
        header: Whether the first line names the columns; detected if not given.
    """
    quoted = is_kind(where, ".csv")
    lines = _sample_lines(content)
    marks = list(SEPARATORS) if separator is None else [_parse_separator(separator)]
    if not lines:
        return Layout(marks[0], quoted, _number(wanted))
    number, first = lines[0]
    for mark in [] if header is False else marks:
        words = split_line(first, mark, quoted)
        found = find_columns(words, wanted, optional)
        if found is not None:
            return Layout(mark, quoted, found, number, tuple(word.strip() for word in words))
    mark, width = _detect_separator([line for _, line in lines], marks, quoted, wanted, optional, where)
    columns = wanted if width == len(wanted) else [name for name in wanted if name not in optional]
    return Layout(mark, quoted, _number(columns), number if header else 0)


def find_columns(
    words: Sequence[str], wanted: Sequence[str] = TRIPLE, optional: Sequence[str] = ()
) -> dict[str, int] | None:
    """Return the position of each wanted column among the words of a header, None if they do not name them all.

    Optional columns may be missing if there are no others.
    """
    plain = [re.sub(r"[\s-]+", "_", word.strip(' "').lower()) for word in words]
    required = [name for name in wanted if name not in optional]
    for names in (wanted, required) if len(words) == len(required) else (wanted,):
        for known in _HEADER_WORDS:
            places = [[place for place, word in enumerate(plain) if word in known.get(name, ())] for name in names]
            if all(len(found) == 1 for found in places):
                return {name: found[0] for name, found in zip(names, places, strict=True)}
    return None


def note_columns(header: Sequence[str], columns: dict[str, int], where: str) -> tuple[str, ...]:
    """Note that a header names the columns in another order than usual, or more than are read."""
    notes = []
    if list(columns.values()) != sorted(columns.values()):
        ordered = ", ".join(sorted(columns, key=lambda name: columns[name]))
        notes.append(Remark(f"{where}: the columns are in the order {ordered}, as the header says."))
    places = columns.values()
    others = [word.strip() or "one without a name" for place, word in enumerate(header) if place not in places]
    if others:
        listed = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
        notes.append(Remark(f"{where}: columns other than {', '.join(columns)} were left out: {listed}."))
    return tuple(notes)


def refuse_formats(content: bytes, where: str) -> None:
    """Refuse a file whose name or first line shows that it is not a table."""
    kind = next((kind for kind, endings in _OTHER_FORMATS.items() if is_kind(where, *endings)), None)
    if kind is None and _STATEMENT.fullmatch(content.lstrip()[:4096].partition(b"\n")[0]):
        kind = "RDF (N-Triples)"
    if kind is not None:
        raise DataError(f"{where}: {kind} files are not read; write a table of columns as Parquet, CSV or TSV")


def is_kind(name: str, *endings: str) -> bool:
    """Return whether a file name has one of the endings, compression aside."""
    return strip_compression(name).lower().endswith(endings)


def split_line(line: str, separator: str, quoted: bool) -> list[str]:
    """Return the fields of one line."""
    return next(csv.reader([line], delimiter=separator), []) if quoted else line.split(separator)


def _number(names: Sequence[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _parse_separator(text: str) -> str:
    r"""Return the character that "tab", "\t", "," and the like stand for."""
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


def _sample_lines(content: bytes) -> list[tuple[int, str]]:
    """Return the first lines that are not empty, each with its number from 1."""
    sample = content[:_SAMPLE_BYTES].splitlines()
    if len(content) > _SAMPLE_BYTES and len(sample) > 1:
        sample.pop()  # it may have been cut in two
    lines = [(number, line.decode("utf-8", "replace")) for number, line in enumerate(sample, start=1) if line.strip()]
    return lines[:_SAMPLE_LINES]


def _detect_separator(
    lines: Sequence[str], marks: Sequence[str], quoted: bool, wanted: Sequence[str], optional: Sequence[str], where: str
) -> tuple[str, int]:
    """Return the separator under which most lines have as many columns as are wanted, and that number of columns."""
    if len(marks) == 1 or len(wanted) == 1:
        return marks[0], len(wanted)
    widths = {mark: Counter(len(split_line(line, mark, quoted)) for line in lines) for mark in marks}
    choices = list(product(marks, range(len(wanted), len(wanted) - len(optional) - 1, -1)))
    # The first of equals. A space is also part of names: it counts for less than half of any other mark.
    mark, width = max(choices, key=lambda choice: widths[choice[0]][choice[1]] * (1 if choice[0] == " " else 2))
    if widths[mark][width]:
        return mark, width
    for mark, counter in widths.items():
        # Not as many columns as wanted, but always the same number, which the reader reports.
        if len(counter) == 1 and 1 not in counter:
            return mark, len(wanted)
    raise DataError(
        f"{where}, line 1: no separator found in {lines[0][:60]!r}; separate {', '.join(wanted)} by a "
        f"{', '.join(SEPARATORS.values())}, or say which separator the file has"
    )
