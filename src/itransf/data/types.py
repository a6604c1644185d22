"""Given types: those of entities, and those that relations have as heads and tails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from itransf.data.known import Integers
from itransf.data.layout import Remark, Table
from itransf.data.reading import read_columns
from itransf.data.vocabulary import Vocabulary
from itransf.errors import DataError, did_you_mean


@dataclass(frozen=True, eq=False)
class Types:
    """Types, which are numbered.

    Attributes:
        members: Entity and type that it has, (n, 2).
        sides: Side of a relation (heads of relation r are 2 r, its tails 2 r + 1) and type that fits it, (m, 2).
    """

    members: Integers
    sides: Integers


def read_types(
    entities: Vocabulary, relations: Vocabulary, types: str | Path, domains: str | Path | None
) -> tuple[Types, list[str]]:
    """Read types from tables; return them, and notes about names that are not known.

    Args:
        entities: Names of the entities.
        relations: Names of the relations.
        types: File with the columns entity and type; an entity may have several rows.
        domains: File with the columns relation, type of its heads, type of its tails, of which one may be empty.

    Raises:
        DataError: No name is known, or a domain is a type that no entity has; the message names the line.
    """
    notes, numbers, sides = list[str](), dict[str, int](), []
    owned = _list_known(read_columns(types, ("entity", "type")), entities, notes)
    members = [(entity, numbers.setdefault(kind, len(numbers))) for _, entity, kind in owned]
    if domains is not None:
        table = read_columns(domains, ("relation", "domain", "range"), blanks=True)
        for row, relation, *kinds in _list_known(table, relations, notes):
            for side, kind in enumerate(kinds):
                if kind and kind not in numbers:
                    hint = did_you_mean(kind, numbers)
                    raise DataError(f"{table.locate(row)}: no entity has the type {kind!r}; correct it.{hint}")
                sides += [(2 * relation + side, numbers[kind])] if kind else []
    return Types(np.array(members), np.array(sides, dtype=np.int64).reshape(-1, 2)), notes


def _list_known(table: Table, names: Vocabulary, notes: list[str]) -> list[tuple[Any, ...]]:
    """Return row, number and further columns of the rows whose name is known; note the others, or refuse them all."""
    rows = table.rows()
    known = [(row, names.index(name), *rest) for row, (name, *rest) in enumerate(rows) if names.has_name(name)]
    if not known:
        example = f"{names.kind} names, such as {next(iter(names))!r}"
        raise DataError(f"{table.source}: no name in it is known; its first column must hold {example}")
    if len(known) < len(rows):
        notes.append(Remark(f"{table.source}: {len(rows) - len(known):,} rows of unknown names were left out."))
    return known
