"""Layout of a table: separator, quotes, header words, and which columns are read."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import pyarrow as pa

from itransf.data.archives import INPUT, strip_compression
from itransf.data.known import Integers
from itransf.errors import DataError, did_you_mean, name_first

TRIPLE = ("head", "relation", "tail")
EXTRA = ("weight",)  # columns that a table of triples may have beside them

SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "pipe", " ": "space"}
"""Possible separators, the surest first: a tab is hardly ever part of a name, a space often is."""

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
_EXTRA_WORDS = {"weight": {"weight", "confidence", "count"}}
_OTHER_FORMATS = {
    "JSON": (".json", ".jsonl", ".ndjson", ".jsonld"),
    "Excel": (".xlsx", ".xls", ".xlsm", ".ods"),
    "RDF": (".nt", ".nq", ".ttl", ".rdf", ".owl", ".n3", ".trig"),
}
_STATEMENT = re.compile(rb"\s*(<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+(<|_:|\").*\.\s*(#.*)?")  # a line of N-Triples
_SAMPLE_LINES = 100
_SAMPLE_BYTES = 2**20
_SHOWN = 8  # names listed in a message
LISTED = 20  # bad lines that are listed
_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls the index of a frame among its columns


class Remark(str):
    """A note that says how something was read; any other note may point to a mistake."""

    __slots__ = ()


@dataclass(frozen=True)
class Form:
    """What a user says about the form of a table; the rest is detected.

    Attributes:
        separator: Character between columns, or its name.
        header: Whether the first line names the columns.
        columns: Columns of head, relation and tail, by name or by number from 1; one text has commas between them.
            Of a wide table, the columns that become relations.
        weight: Column of the weights, by name or by number.
        wide: Whether every column is a relation, and every row an entity.
        key: Column of the entities of a wide table, by name or by number; the first by default.
        split: Separator of several values in a cell of a wide table.
        skip_bad: Whether to leave out lines that cannot be read, instead of refusing the table; None where nobody is
            asked, so that messages do not offer it.
    """

    separator: str | None = None
    header: bool | None = None
    columns: str | Sequence[str | int] | None = None
    weight: str | int | None = None
    wide: bool = False
    key: str | int | None = None
    split: str | None = None
    skip_bad: bool | None = None

    def __post_init__(self) -> None:
        """Refuse options of wide tables for any other table."""
        for option in ("key", "split"):
            if getattr(self, option) is not None and not self.wide:
                raise DataError(f"--{option} ({option}=...) is for wide tables; give --wide (wide=True) as well")

    @property
    def is_given(self) -> bool:
        """Whether the user says which columns are read."""
        return self.wide or bool(self.chosen) or self.weight is not None

    @property
    def chosen(self) -> tuple[str | int, ...]:
        """The columns as a list."""
        if isinstance(self.columns, str):
            return tuple(word.strip() for word in next(csv.reader([self.columns]), []))
        return tuple(self.columns or ())


DETECTED = Form()
"""Nothing is said about the table."""


@dataclass(frozen=True)
class Request:
    """Columns to read from a table.

    Attributes:
        wanted: Names of the columns.
        optional: Columns among them that may be missing.
        extra: Further columns, such as "weight", read where a header or the form names them; they may have blanks.
        form: What the user says about the table.
        blanks: Whether fields may be empty.
    """

    wanted: Sequence[str] = TRIPLE
    optional: Sequence[str] = ()
    extra: Sequence[str] = ()
    form: Form = DETECTED
    blanks: bool = False

    def __post_init__(self) -> None:
        """Refuse a column of weights where weights are not read."""
        if self.form.weight is not None and "weight" not in self.extra:
            raise DataError("--weight (weight=...) is for triples to train on or to update with; leave it out here")

    @property
    def required(self) -> list[str]:
        """Columns that may not be missing."""
        return [name for name in self.wanted if name not in self.optional]

    def list_free(self, columns: Iterable[str]) -> set[str]:
        """Return which of these columns may have empty fields; in a wide table, all but the key."""
        _, *others = columns
        return {*self.extra, *(self.wanted if self.blanks else ()), *(others if self.form.wide else ())}


TRIPLES = Request()
"""Triples, of which nothing is said."""


@dataclass(frozen=True)
class Table:
    """Columns of text, with the place of each row in the source.

    Attributes:
        data: String columns without missing values.
        source: Name of the source for messages: a path, or "train".
        locate: Function from a row (numbered from 0) to its place in the source, such as "train.txt, line 12".
        notes: What the reader noticed, in sentences.
        header: The header's words, empty where there is no header that names the columns.
        absent: Whether the table is missing; the source is then the place where it was expected.
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

    def take(self, rows: Integers, data: pa.Table | None = None, notes: Sequence[str] = ()) -> Table:
        """Return a table of some rows, or of other data that was made from these rows, with more notes."""
        data = self.data.take(rows) if data is None else data
        return replace(self, data=data, locate=lambda row: self.locate(int(rows[row])), notes=(*self.notes, *notes))


@dataclass(frozen=True)
class Layout:
    """Layout of one text file.

    Attributes:
        separator: Character between columns.
        quoted: Whether a field may be in double quotes.
        columns: Position in the file of each column that is read, by its name.
        width: Number of columns in the file.
        skip: Number of lines before the first row.
        header: The header's words, where they name the columns.
        wide: Whether every column is a relation.
    """

    separator: str
    quoted: bool
    columns: dict[str, int]
    width: int
    skip: int = 0
    header: tuple[str, ...] = ()
    wide: bool = False


def detect_layout(content: bytes, where: str, request: Request) -> Layout:
    """Detect the layout of a text file from its first lines.

    Args:
        content: The file's bytes.
        where: The file's name; quotes have a meaning where it ends in .csv.
        request: Columns to read.
    """
    lines, form, wanted = _sample_lines(content), request.form, request.wanted
    quoted = is_kind(where, ".csv") or (where == INPUT and bool(lines) and "\t" not in lines[0][1])
    marks = list(SEPARATORS) if form.separator is None else [_parse_separator(form.separator)]
    if not lines:
        return Layout(marks[0], quoted, _number(wanted), len(wanted))
    texts = [line for _, line in lines]
    marks = _drop_blank(texts, marks, quoted)
    number, first = lines[0]
    for mark in [] if form.header is False or form.wide or form.chosen else marks:
        words = split_line(first, mark, quoted)
        if find_columns(words, request) is not None:
            found = choose_columns(words, where, request)
            return Layout(mark, quoted, found, len(words), number, tuple(word.strip() for word in words))
    if not form.is_given:
        mark, width = _detect_separator(texts, marks, quoted, request, where)
        columns = wanted if width == len(wanted) else request.required
        return Layout(mark, quoted, _number(columns), width, number if form.header else 0)
    mark = _detect_regular(texts, marks, quoted, form)
    words = split_line(first, mark, quoted)
    named = form.wide or any(not _is_number(column) for column in (*form.chosen, form.weight or 1))
    header = form.header if form.header is not None else named or find_columns(words, request) is not None
    if named and not header:
        raise DataError(f"{where}: without a header there are no names of columns; give numbers, or leave --no-header")
    found = choose_columns(words if header else [""] * len(words), where, request)
    header_words = tuple(word.strip() for word in words) if header else ()
    return Layout(mark, quoted, found, len(words), number * header, header_words, form.wide)


def choose_columns(words: Sequence[str], where: str, request: Request) -> dict[str, int]:
    """Return the place of each column to read: those that the form gives, or that a header names, or all.

    Args:
        words: The words of the header, empty where there is none.
        where: Name of the table for messages.
        request: Columns to read.
    """
    form, required = request.form, request.required
    if form.wide:
        return _choose_wide(words, where, form)
    if form.chosen:
        names = required if len(form.chosen) == len(required) else list(request.wanted)
        if len(form.chosen) != len(names):
            raise DataError(f"--columns gives {len(form.chosen)} columns; give {len(names)}: {', '.join(names)}")
        found = {name: _find_column(words, column, where) for name, column in zip(names, form.chosen, strict=True)}
    else:
        found = find_columns(words, request) or _take_all(words, where, request)
    for name in request.extra:
        given = getattr(form, name)
        places = [place for place, word in enumerate(words) if _simplify(word) in _EXTRA_WORDS[name]]
        if given is not None:
            found[name] = _find_column(words, given, where)
        elif len(places) == 1 and places[0] not in found.values():
            found[name] = places[0]
    return found


def _choose_wide(words: Sequence[str], where: str, form: Form) -> dict[str, int]:
    """Return the places of the key and of the columns that are relations in a wide table, by their names."""
    key = _find_column(words, 1 if form.key is None else form.key, where)
    named = [place for place, word in enumerate(words) if word.strip() and not _INDEX.fullmatch(word)]
    found = {words[key].strip() or "key": key}
    for place in [_find_column(words, column, where) for column in form.chosen] or named:
        if found.setdefault(words[place].strip(), place) != place:
            raise DataError(f"{where}: two columns are called {words[place].strip()!r}; give them different names")
    if len(found) == 1:
        raise DataError(f"{where}: there is no column beside {words[key]!r}; a wide table has a relation per column")
    return found


def _take_all(words: Sequence[str], where: str, request: Request) -> dict[str, int]:
    """Return the places of the only columns, an index and a column of weights aside."""
    wanted, weight = request.wanted, request.form.weight
    aside = None if weight is None else _find_column(words, weight, where)
    places = [place for place, word in enumerate(words) if not _INDEX.fullmatch(word) and place != aside]
    for columns in (wanted, request.required):
        if len(columns) == len(places):
            return dict(zip(columns, places, strict=True))
    raise DataError(
        f"{where}: {len(places)} column{'s' * (len(places) != 1)} instead of {len(wanted)} ({', '.join(wanted)}): "
        f"{', '.join(words)[:200]}; choose {len(wanted)} with --columns (columns=...), by name or number, name them in "
        "a header, or read a relation per column with --wide (wide=True)"
    )


def _find_column(words: Sequence[str], column: str | int, where: str) -> int:
    """Return the place of a column that is given by name or by number from 1."""
    names = [word.strip() for word in words]
    places = [place for place, name in enumerate(names) if name == str(column).strip() and not isinstance(column, int)]
    if len(places) > 1:
        raise DataError(f"{where}: {len(places)} columns are called {column!r}; give the number of one, from 1")
    if places:
        return places[0]
    if _is_number(column) and 1 <= int(column) <= len(names):
        return int(column) - 1
    listed = f"its columns: {', '.join(names)}" if any(names) else f"it has {len(names)} columns and no header"
    raise DataError(f"{where}: there is no column {column!r}; {listed}.{did_you_mean(str(column), names)}")


def _is_number(column: str | int) -> bool:
    return str(column).strip().isdecimal()


def find_columns(words: Sequence[str], request: Request) -> dict[str, int] | None:
    """Return the position of each wanted column among the words of a header, None if they do not name them all.

    Optional columns may be missing if there are no others.
    """
    plain = [_simplify(word) for word in words]
    wanted, required = request.wanted, request.required
    for names in (wanted, required) if len(words) == len(required) else (wanted,):
        for known in _HEADER_WORDS:
            places = [[place for place, word in enumerate(plain) if word in known.get(name, ())] for name in names]
            if all(len(found) == 1 for found in places):
                return {name: found[0] for name, found in zip(names, places, strict=True)}
    return None


def note_columns(header: Sequence[str], columns: dict[str, int], where: str) -> tuple[str, ...]:
    """Note that a header names the columns in another order than usual, or more than are read."""
    notes, ordered, places = [], sorted(columns, key=columns.__getitem__), columns.values()
    if ordered != list(columns):
        notes.append(Remark(f"{where}: the columns are in the order {', '.join(ordered)}, as the header says."))
    others = [word.strip() or "one without a name" for place, word in enumerate(header) if place not in places]
    if others:
        listed = list_first(others)
        notes.append(Remark(f"{where}: columns other than {', '.join(columns)} were left out: {listed}."))
    return tuple(notes)


def list_first(words: Sequence[str]) -> str:
    """Return the first few words as text."""
    return ", ".join(words[:_SHOWN]) + (", ..." if len(words) > _SHOWN else "")


def check_bad(faults: Sequence[tuple[int, str]], where: str, form: Form, unit: str = "line") -> tuple[str, ...]:
    """Refuse a table with bad lines or rows, or note which are left out if the form says so.

    Args:
        faults: Number and fault of each; those with the same fault are listed together.
        where: Name of the table.
        form: What the user says about the table.
        unit: What is numbered.
    """
    kinds: dict[str, list[int]] = {}
    for number, fault in faults:
        kinds.setdefault(fault, []).append(number)
    told, most = [], max(1, LISTED // max(1, len(kinds)))
    for fault, numbers in list(kinds.items())[:LISTED]:
        told.append(f"{where}, {unit} {name_first([str(number) for number in numbers], most)}: {fault}")
    amount = f"{len(faults):,} bad {unit}{'s' * (len(faults) != 1)}"
    if form.skip_bad:
        return ("\n  ".join([f"{amount} of {where} {'was' if len(faults) == 1 else 'were'} left out:", *told]),)
    if len(faults) == 1:
        raise DataError(told[0])
    told.append("Correct them" + (", or leave them out with --skip-bad (skip_bad=True)" * (form.skip_bad is not None)))
    raise DataError("\n  ".join([f"{where}: {amount}", *told]))


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


def _simplify(word: str) -> str:
    """Return a word of a header in lower case, with underscores for blanks and hyphens."""
    return re.sub(r"[\s-]+", "_", word.strip(' "').lower())


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


def _drop_blank(lines: Sequence[str], marks: list[str], quoted: bool) -> list[str]:
    """Return the separators without the blank if every line has another one: blanks are then part of names."""
    others = [mark for mark in marks if mark != " "]
    is_regular = any(all(len(split_line(line, mark, quoted)) > 1 for line in lines) for mark in others)
    return others if is_regular else marks


def _detect_separator(
    lines: Sequence[str], marks: Sequence[str], quoted: bool, request: Request, where: str
) -> tuple[str, int]:
    """Return the separator under which most lines have as many columns as are wanted, and that number of columns."""
    wanted = request.wanted
    if len(marks) == 1 or len(wanted) == 1:
        return marks[0], len(wanted)
    widths = {mark: Counter(len(split_line(line, mark, quoted)) for line in lines) for mark in marks}
    choices = list(product(marks, range(len(wanted), len(request.required) - 1, -1)))
    # The first of equals. A space is also part of names: it counts for less than half of any other mark.
    mark, width = max(choices, key=lambda choice: widths[choice[0]][choice[1]] * (1 if choice[0] == " " else 2))
    if 2 * widths[mark][width] > len(lines):
        return mark, width
    for other, counter in widths.items():
        if len(counter) == 1 and 1 not in counter:  # not as many columns as wanted, but always the same number
            words = [word.strip() for word in split_line(lines[0], other, quoted)]
            if len(words) > len(wanted) and "head" in wanted:
                _take_all(words, f"{where}, line 1", request)
            return other, len(wanted)  # the reader reports it
    if widths[mark][width]:
        return mark, width
    raise DataError(
        f"{where}, line 1: no separator found in {lines[0][:60]!r}; separate {', '.join(wanted)} by a "
        f"{', '.join(SEPARATORS.values())}, or say which separator the file has"
    )


def _detect_regular(lines: Sequence[str], marks: Sequence[str], quoted: bool, form: Form) -> str:
    """Return the separator under which the first line has the columns of the form and most lines its width."""
    asked = (*form.chosen, form.weight or 1, form.key or 1)
    least = max(2, *(int(column) for column in asked if _is_number(column)))

    def judge(mark: str) -> tuple[int, bool, float, int]:
        widths = [len(split_line(line, mark, quoted)) for line in lines]
        words = [word.strip() for word in split_line(lines[0], mark, quoted)]
        regular = widths.count(widths[0]) * (0.5 if mark == " " else 1.0)
        return sum(column in words for column in asked), widths[0] >= least, regular, widths[0]

    return max(marks, key=judge)
