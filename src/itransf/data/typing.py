"""Types of entities, learned from train: which entities fit a side of a relation.

The sides on which an entity occurs in train are its type. An entity fits a side if it occurs there, or if entities
with its sides do: the evidence of a side u for a side s is the log of P(u | s) / P(u), and its mean over all sides of
the entity has to be at least `LEAST_LIFT`. An entity without triples in train fits every side.

Given types (see `itransf.data.typing`) come before this rule: an entity that has some fits a side if it occurs there or
has a type of the side, which is given or else one that entities have which occur there.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from itransf.data.known import Booleans, Floats, Integers, is_among, sort_distinct
from itransf.data.layout import Remark, Request, Table
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
    owned = _list_known(read_columns(types, Request(("entity", "type"))), entities, notes)
    members = [(entity, numbers.setdefault(kind, len(numbers))) for _, entity, kind in owned]
    if domains is not None:
        table = read_columns(domains, Request(("relation", "domain", "range"), blanks=True))
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


LEAST_LIFT = -1.0
"""Least mean log lift of an entity that fits. With this one, nearly all right answers of valid fit on world, CoDEx-S,
FB15k-237 and WN18RR."""
PRIOR = 1.0  # entities drawn from all, which every side has in addition: they smooth rare relations

MOST_KEPT = 2**27  # entities of all sides together that are kept: 1 GB
SIDE_NUMBERS = {"head": 0, "tail": 1}


class Typing:
    """Entities that fit each side of each relation, from train only.

    Args:
        triples: Training triples, (n, 3).
        entity_count: Number of entities.
        relation_count: Number of relations.
        types: Given types, if any.
    """

    def __init__(self, triples: Integers, entity_count: int, relation_count: int, types: Types | None = None) -> None:
        self._types = types
        heads, relations, tails = (np.ascontiguousarray(column, dtype=np.int64) for column in triples.T)
        width = max(2 * relation_count, 1)
        # Sides are numbered: heads of relation r are 2 r, its tails 2 r + 1.
        keys = sort_distinct(np.concatenate([heads * width + 2 * relations, tails * width + 2 * relations + 1]))
        self._entities, self._sides = keys // width, keys % width
        self._entity_count = entity_count
        self._side_sizes = np.bincount(self._sides, minlength=width)  # entities on each side
        self._shares = np.maximum(self._side_sizes, 1) / max(entity_count, 1)  # P(u)
        self._degrees = np.maximum(np.bincount(self._entities, minlength=entity_count), 1)  # sides of each entity
        self._found: dict[int, Integers] = {}

    def candidates(self, relation: int, side: str) -> Integers:
        """Return the entities that fit a side ("head" or "tail") of a relation, ascending."""
        number = 2 * relation + SIDE_NUMBERS[side]
        found = self._found.get(number)
        if found is None:
            if sum(map(len, list(self._found.values()))) > MOST_KEPT:  # a list, as other threads may add to it
                self._found.clear()
            self._found[number] = found = np.flatnonzero(self._select(number))
        return found

    def fits(self, entity: int, relation: int, side: str) -> bool:
        """Return whether an entity fits a side of a relation."""
        return bool(is_among(np.array([entity]), self.candidates(relation, side))[0])

    def measure_fits(self, relation: int, side: str, triples: Integers) -> Floats:
        """Return how well the entities on a side of a relation's training triples fit it, each without its own triple.

        Args:
            relation: The relation.
            side: "head" or "tail".
            triples: All training triples of the relation, (n, 3).

        Returns:
            Mean log lift of each entity, (n,); 0 for an entity without other triples.
        """
        number, column = 2 * relation + SIDE_NUMBERS[side], 2 * SIDE_NUMBERS[side]
        seen = np.zeros(self._entity_count, dtype=np.bool_)
        seen[triples[:, column]] = True
        is_other = seen[self._entities] & (self._sides != number)
        entities, sides = self._entities[is_other], self._sides[is_other]
        # Each of these entities is one of those that a side shares with this one, and is left out.
        shares = self._shares
        shared = np.maximum(np.bincount(sides, minlength=len(shares)) - 1, 0)
        lifts = np.log((shared + PRIOR * shares) / ((max(int(seen.sum()) - 1, 0) + PRIOR) * shares))
        sums = np.bincount(entities, weights=lifts[sides], minlength=self._entity_count)
        counts = np.bincount(entities, minlength=self._entity_count)
        again = np.bincount(triples[:, column], minlength=self._entity_count) > 1  # on this side by another triple
        sums, counts = sums - again * np.log(shares[number]), counts + again
        return np.asarray((sums / np.maximum(counts, 1))[triples[:, column]])

    def relations(self, head: int, tail: int) -> Integers:
        """Return the relations, ascending, whose sides both entities fit: the head the one, the tail the other."""
        return np.flatnonzero(self._fit_sides(head)[0::2] & self._fit_sides(tail)[1::2])

    def _fit_sides(self, entity: int) -> Booleans:
        """Return for each side whether an entity fits it, as `_select` does for all entities and one side."""
        if self._types is not None:
            sides = range(len(self._side_sizes))
            return np.array([self.fits(entity, number // 2, ("head", "tail")[number % 2]) for number in sides])
        own = self._sides[slice(*np.searchsorted(self._entities, [entity, entity + 1]))]
        sums = np.zeros(len(self._side_sizes))
        for side in own.tolist():
            shared = self._count_shared(self._mark(side))
            sums += np.log((shared + PRIOR * self._shares[side]) / ((self._side_sizes + PRIOR) * self._shares[side]))
        found = sums / self._degrees[entity] >= LEAST_LIFT
        found[own] = True
        return np.asarray(found)

    def _select(self, number: int) -> Booleans:
        """Return for each entity whether it fits a side."""
        seen = self._mark(number)
        prior = PRIOR * self._shares
        lifts = np.log((self._count_shared(seen) + prior) / ((self._side_sizes[number] + PRIOR) * self._shares))
        sums = np.bincount(self._entities, weights=lifts[self._sides], minlength=self._entity_count)
        fits = sums / self._degrees >= LEAST_LIFT
        if self._types is not None:
            fits = self._obey(number, seen, fits)
        return np.asarray(seen | fits)

    def _obey(self, number: int, seen: Booleans, fits: Booleans) -> Booleans:
        """Return which entities fit a side by their given types; those that have none, as `fits` says."""
        assert self._types is not None
        (entities, kinds), (sides, given) = self._types.members.T, self._types.sides.T
        wanted = given[sides == number] if (sides == number).any() else kinds[seen[entities]]
        if not len(wanted):
            return fits
        obeyed = fits.copy()
        obeyed[entities] = False
        obeyed[entities[np.isin(kinds, wanted)]] = True
        return obeyed

    def _mark(self, number: int) -> Booleans:
        """Return for each entity whether it occurs on a side in train."""
        seen = np.zeros(self._entity_count, dtype=np.bool_)
        seen[self._entities[self._sides == number]] = True
        return seen

    def _count_shared(self, marked: Booleans) -> Integers:
        """Return how many of the marked entities occur on each side."""
        return np.bincount(self._sides[marked[self._entities]], minlength=len(self._side_sizes))
