"""Literals: tails that are numbers, dates or long texts and name no entity. They are dropped, kept or put into bins."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from itransf.data.known import Booleans, Integers, Triples, sort_distinct
from itransf.data.layout import Table, list_first
from itransf.data.splits import encode
from itransf.errors import ConfigError, DataError, name_count

_MODES = {
    "drop": "",
    "keep": "--literals keep (literals='keep') keeps them as entities",
    "bin": "--literals bin makes bins",
}
_KINDS = ("whole number", "number", "date", "long text", "other literal")
_WHOLE, _NUMBER, _DATE, _TEXT, _OTHER = range(len(_KINDS))
_PATTERNS = (
    r"^[-+]?(0|[1-9]\d{0,14})$",  # 00260881 is a name
    r"^[-+]?[$€£]? ?(0|[1-9]\d{0,14}|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?([eE][-+]?\d\d?)? ?[%$€£]?$"
    r"|^[-+]?[$€£]? ?(0|[1-9]\d{0,2}(\.?\d{3})*),\d{1,2} ?[%$€£]?$",  # 1.234,50
    r"^\d{4}[-/](0?[1-9]|1[0-2])([-/]\d{1,2}([T ]\d{1,2}:\d{2}.*)?)?$|^\d{1,2}[./]\d{1,2}[./]\d{4}$",
    r"^(\S+\s+){14,}\S",
)
_POSSIBLE = r"^[-+$€£ ]*\d|^(?s:.{29})"  # fits every literal
_BIN = r" ((below|before) \S*\d\S*|\S*\d\S* to \S*\d\S*|\S*\d\S* or (more|later))$"  # the end of its name
_DIGITS = r"^\d+$"
_YEAR = r"^\d{3,4}$"  # a date only among dates
_SLASHED = r"^(\d{1,2})/(\d{1,2})/"  # day and month, or month and day
_IDENTIFIER = re.compile(r"(?i)(^|[\W_])(id|ids|code|key|no|nr|number|zip|phone|isbn|ean|gtin|sku)$")
_MOST = 0.8  # share of a relation's triples from which it leads to literals
_USES = 3.0  # triples for a value from which a value is as good as an entity
_SINGLE = 1.2  # tails for a head up to which they may be values of an attribute
_NUMERIC = 0.1  # share of heads that are numbers from which whole numbers name entities
_BINS, _USUAL = 8, 5  # bins at most, and values in each at least
_STEPS = [factor * 10.0**power for power in range(15, -16, -1) for factor in (1.0, 0.5, 0.2)]
_MONTHS = [1200.0, 120.0, 60.0, 12.0, 6.0, 3.0, 1.0]


def treat_literals(tables: Sequence[Table], mode: str = "drop", others: Sequence[str] = ("keep", "bin")) -> list[Table]:
    """Drop, keep or bin the literals among the tails of tables, and note how many there are.

    Args:
        tables: Triples of train, valid and test, or one table; the first decides on bins.
        mode: "drop", "keep" or "bin", which makes entities such as "price 20 to 50" of numbers and dates, and drops
            long texts and what is no value of the kind.
        others: Modes that the note recommends where literals are dropped.

    Raises:
        DataError: Nothing is left to train on.
    """
    if mode not in _MODES:
        raise ConfigError(f"literals must be drop, keep or bin, not {mode!r}")
    columns = [table.data.column("tail") for table in tables]
    if mode == "keep" or not any(pc.any(pc.match_substring_regex(each, _POSSIBLE)).as_py() for each in columns):
        return list(tables)
    encoded = encode([table.data for table in tables])
    triples, first = np.concatenate(encoded.splits), len(tables[0])
    kinds, chosen = _find_literals(triples, encoded.entities, encoded.relations, mode == "bin")
    rows = np.flatnonzero((chosen[triples[:, 1]] >= 0) & (kinds[triples[:, 2]] >= 0))
    if not len(rows):
        return list(tables)
    texts = np.concatenate([column.to_numpy() for column in columns])
    rows = rows[np.argsort(triples[rows, 1], kind="stable")]
    put, left = list[tuple[int, str, int]](), list[tuple[int, str, int]]()  # negative number, relation, kind
    for group in np.split(rows, np.flatnonzero(np.diff(triples[rows, 1])) + 1):
        name, kind = encoded.relations[triples[group[0], 1]], chosen[triples[group[0], 1]]
        binned = mode == "bin" and kind != _TEXT
        texts[group] = _name_bins(name, texts[group], group < first, kind == _DATE) if binned else ""
        count = int(np.count_nonzero(texts[group]))
        put.append((-count, name, kind))
        left.append((count - len(group), name, _OTHER if binned else kind))
    if not texts[:first].any():
        cure = " or ".join(others)
        raise DataError(f"{tables[0].source}: all tails are numbers, dates or long texts; give --literals {cure}")
    cure = f" {', '.join(_MODES[other] for other in others)}." if mode == "drop" else ""
    note = f"{_note('were put into bins', put, len(triples))}{_note('were left out', left, len(triples))}"[1:] + cure
    found: list[Table] = []
    for table, new in zip(tables, np.split(texts, np.cumsum([len(table) for table in tables])[:-1]), strict=True):
        kept = np.flatnonzero(new)
        data = table.data.set_column(2, "tail", pa.array(new, pa.string())).take(kept)
        found.append(table.take(kept, data, () if found else (note,)))
    return found


def _note(done: str, told: Iterable[tuple[int, str, int]], total: int) -> str:
    """Return a sentence on the literals of each relation, with a blank before it; nothing if there are none."""
    listed = sorted(each for each in told if each[0])
    texts = [f"{name} ({name_count(-count, _KINDS[kind])})" for count, name, kind in listed]
    amount = f"{-sum(count for count, *_ in listed):,} of {total:,} tails are literals"
    return f" {amount} and {done}: {list_first(texts)}." if listed else ""


def _find_literals(
    triples: Triples, entities: Sequence[str], relations: Sequence[str], binned: bool
) -> tuple[Integers, Integers]:
    """Return the kind of literal that each entity may be and that each relation leads to, -1 for none.

    A relation leads to literals if most of its tails look like some and are no heads. Whole numbers may be identifiers:
    they are literals only if heads have one each, and if they are no tails of other relations and no heads are numbers.
    Values that occur often are entities like others.

    Args:
        triples: All triples.
        entities: Names of entities.
        relations: Names of relations.
        binned: Whether whole numbers that occur often are literals, too, if there are more of them than bins.
    """
    names, count = pa.array(entities, pa.string()), len(relations)
    kinds = np.full(len(entities), -1)
    for kind in reversed(range(len(_PATTERNS))):  # a whole number is also a number
        kinds[_match(names, _PATTERNS[kind])] = kind
    heads = sort_distinct(triples[:, 0])
    are_numbers = _match(names.take(heads), _DIGITS).mean() > _NUMERIC
    kinds[heads] = -1
    own, tail_kinds = triples[:, 1], kinds[triples[:, 2]]
    counts = np.stack([np.bincount(own[tail_kinds == kind], minlength=count) for kind in range(len(_PATTERNS))])
    counts[_NUMBER] += np.where(10 * counts[_NUMBER] > counts[_WHOLE], counts[_WHOLE], 0)
    kind, fitting = counts.argmax(axis=0), np.bincount(own[tail_kinds >= 0], minlength=count)
    pairs = sort_distinct((own * len(names) + triples[:, 2])[tail_kinds >= 0])
    distinct = np.bincount(pairs // len(names), minlength=count)
    per_head = np.bincount(sort_distinct(own * len(names) + triples[:, 0]) // len(names), minlength=count)
    total, is_whole = np.bincount(own, minlength=count), kind == _WHOLE
    few = (fitting >= _USES * distinct) & ((distinct <= _BINS) | (is_whole & (not binned)))
    is_literal = (fitting > 0) & (fitting >= _MOST * total) & ~few
    is_name = are_numbers | (total > _SINGLE * per_head) | [bool(_IDENTIFIER.search(name)) for name in relations]
    is_literal &= ~(is_whole & is_name)
    elsewhere = np.zeros(len(names))
    elsewhere[triples[~is_literal[own], 2]] = 1.0
    shared = np.bincount(pairs // len(names), elsewhere[pairs % len(names)], minlength=count)
    return kinds, np.where(is_literal & ~(is_whole & (2 * shared > distinct)), kind, -1)


def _match(names: pa.Array, pattern: str) -> Booleans:
    return np.asarray(pc.match_substring_regex(names, pattern), dtype=bool)


def _name_bins(relation: str, texts: Iterable[str], known: Booleans, is_date: bool) -> list[str]:
    """Return the bin of each value, such as "price 20 to 50", and "" for what is no value of the kind.

    Bins hold about equally many values and have round edges.

    Args:
        relation: Name of the relation.
        texts: The values.
        known: Which values decide on the edges; all if none.
        is_date: Whether the values are dates, or numbers.
    """
    day_first = any(int(found[1]) > 12 for text in texts if (found := re.match(_SLASHED, text)))
    values = np.array([_read(text, is_date, day_first) for text in texts])
    is_value = ~np.isnan(values)
    known_values = values[known & is_value] if (known & is_value).any() else values[is_value]
    count = min(_BINS, max(2, len(known_values) // _USUAL))
    cuts = np.unique(np.quantile(known_values, np.arange(count + 1) / count))
    edges = [cuts[-1]] if len(cuts) < 3 else []
    for low, cut, high in zip(cuts, cuts[1:], cuts[2:], strict=False):
        near = (round(cut / step) * step for step in (_MONTHS if is_date else _STEPS))
        edges.append(next((edge for edge in near if low + cut <= 2 * edge <= cut + high), cut))
    edges = sorted({math.ceil(edge) if is_date else float(f"{edge:.10g}") for edge in edges})  # as they are written
    written = [_write(edge, is_date) for edge in edges]
    names = [f"{relation} {low} to {high}" for low, high in pairwise(written)]
    names.insert(0, f"{relation} {'before' if is_date else 'below'} {written[0]}")
    names.append(f"{relation} {written[-1]} {'or later' if is_date else 'or more'}")
    places = np.searchsorted(edges, values, side="right")
    return [names[place] if own else "" for place, own in zip(places, is_value, strict=True)]


def list_bins(names: Sequence[str]) -> list[str]:
    """Return the names that look like those of bins."""
    listed = pa.array(names, pa.string())
    return list(listed.filter(pc.match_substring_regex(listed, _BIN)).to_pylist())


def find_bin(relation: str, text: str, names: Iterable[str]) -> str | None:
    """Return the bin among names that a value of a relation belongs to; None if it is no value, or there is no bin.

    The bins decide whether the value must be a number or a date.

    Args:
        relation: Name of the relation.
        text: The value.
        names: What `list_bins` returned.

    Raises:
        DataError: A date such as 05/06/2020 belongs to one bin or another.
    """
    if not re.search("|".join([*_PATTERNS[:_TEXT], _YEAR]), text):
        return None
    pattern = re.compile(re.escape(relation) + r" (?:be(?:low|fore) ()(\S+)|(\S+) to (\S+)|(\S+) or (?:more|later)())")
    matches = filter(None, map(pattern.fullmatch, names))
    edges = {found.string: [part for part in found.groups() if part is not None] for found in matches}
    is_date = any(name.startswith(f"{relation} before ") or name.endswith(" or later") for name in edges)
    values = {_read(text, is_date, day_first) for day_first in (False, True)}
    bins = set[str]()
    for name, (low, high) in edges.items():
        least, end = _read(low, is_date) if low else -math.inf, _read(high, is_date) if high else math.inf
        bins |= {name for value in values if least <= value < end}
    if len(bins) > 1:
        raise DataError(f"{text!r} may begin with its day or its month; write year, month and day, as in 2020-12-31")
    return next(iter(bins), None)


def _read(text: str, is_date: bool, day_first: bool = False) -> float:
    """Return a number, or the month of a date; NaN for anything else."""
    if is_date:
        return _read_month(text, day_first) if re.search(f"{_PATTERNS[_DATE]}|{_YEAR}", text) else math.nan
    return _read_number(text) if re.search(_PATTERNS[_NUMBER], text) else math.nan


def _read_number(text: str) -> float:
    point = "," if re.search(r",\d\d?\D*$", text) else "."
    return float(re.sub(rf"[^\d{point}eE+-]", "", text).replace(point, "."))


def _read_month(text: str, day_first: bool) -> float:
    """Return the number of a date's month, counted from the year 0.

    Args:
        text: The date.
        day_first: Whether 5/6/2020 is in June.
    """
    first, second, *rest = (*re.findall(r"\d+", text), "1")  # a year begins with January
    if len(first) > 2:
        return 12.0 * int(first) + int(second) - 1
    is_day = "." in text or int(first) > 12 or (day_first and int(second) <= 12)
    return 12.0 * int(rest[0]) + int(second if is_day else first) - 1


def _write(edge: float, is_date: bool) -> str:
    year, month = divmod(round(edge), 12)
    if is_date:
        return f"{year:04d}-{month + 1:02d}" if month else f"{year:04d}"
    return f"{edge:.10g}" if abs(edge) < 10_000 else f"{edge:,.10g}"  # years have no comma
