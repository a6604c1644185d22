"""The splits of a graph: names become numbers, duplicates go, one table becomes train, valid and test."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from itransf.data.known import Booleans, Floats, Integers, Triples, is_among, key_triples, sort_distinct
from itransf.data.layout import LISTED, Remark, Table
from itransf.errors import DataError

SPLITS = ("train", "valid", "test")
MANY = 50  # triples of a relation of which some are held out, unless each is the first of an entity
_MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of triples, whatever split they are in.

    Attributes:
        triples: (n, 3) distinct triples.
        values: Their weights, (n,), from 0 on.
    """

    triples: Triples
    values: Floats

    def of(self, triples: Triples) -> Floats:
        """Return the weight of each triple, (m,); a triple without one gets their mean."""
        own, asked = key_triples([self.triples, triples])
        order = np.argsort(own)
        places = order[np.searchsorted(own, asked, sorter=order).clip(max=len(own) - 1)]
        return np.asarray(np.where(own[places] == asked, self.values[places], self.values.mean()))

    def without(self, triples: Triples) -> Weights | None:
        """Return the weights of all other triples; None if none is greater than 0."""
        own, gone = key_triples([self.triples, triples])
        kept = ~np.isin(own, gone)
        if kept.all():
            return self
        return Weights(self.triples[kept], self.values[kept]) if self.values[kept].any() else None

    @property
    def note(self) -> Remark:
        """How the weights were read."""
        least, most = self.values.min(), self.values.max()
        return Remark(f"Each triple counts in the loss by its weight, from {least:g} to {most:g}.")


def gather_weights(tables: Sequence[Table], splits: Sequence[Triples]) -> Weights | None:
    """Return the weights in the column "weight" of tables, whose triples are given as numbers; None without one.

    The weights of equal triples are added if all weights are whole numbers, which count something; otherwise the
    largest one is taken.

    Raises:
        DataError: A weight is not a number from 0 on, or all are 0; the message names the line.
    """
    weighted = [place for place, table in enumerate(tables) if "weight" in table.data.column_names]
    if not weighted:
        return None
    triples = np.concatenate([splits[place] for place in weighted])
    values = np.concatenate([_parse(tables[place]) for place in weighted])
    if not values.any():
        raise DataError(f"{tables[weighted[0]].source}: no weight is greater than 0; correct the column of weights")
    _, first, places = np.unique(key_triples([triples])[0], return_index=True, return_inverse=True)
    together = np.zeros(len(first))
    combine = np.add if (values == np.floor(values)).all() else np.maximum
    combine.at(together, places.reshape(-1), values)
    return Weights(triples[first], together)


def _parse(table: Table) -> Floats:
    """Return the weights of a table as numbers."""
    column = table.data.column("weight")
    plain = pc.match_substring_regex(column, r"^(\d{1,15}\.?\d*|\.\d+)([eE][+-]?\d{1,2})?$")
    bad = np.flatnonzero(~plain.to_numpy()).tolist()
    told = [
        f"{table.locate(row)}: the weight {column[row].as_py()!r} is not a number from 0 on" for row in bad[:LISTED]
    ]
    cure = f"correct {'it' if len(bad) == 1 else 'them'}, or choose another column with --weight (weight=...)"
    listed = "\n  ".join([f"{table.source}: {len(bad):,} bad weights; {cure}", *told])
    if bad:
        raise DataError(listed if len(bad) > 1 else f"{told[0]}; {cure}")
    return np.asarray(column.cast(pa.float64()).to_numpy())


@dataclass(frozen=True)
class Encoded:
    """Triples as numbers over shared names, and what was noted about them.

    Attributes:
        entities: Names in the order of first appearance (heads, then tails, table by table).
        relations: Names in the order of first appearance.
        splits: (n, 3) numbers per table.
        notes: What the reader noticed, in sentences.
        rule: Rule that made the splits, if they were not given.
        weights: Weights of the triples, if any.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    splits: tuple[Triples, ...]
    notes: tuple[str, ...] = ()
    rule: SplitRule | None = None
    weights: Weights | None = None


def encode(tables: Sequence[pa.Table]) -> Encoded:
    """Number the names of tables with the string columns head, relation, tail; those of the first table come first."""
    entities, ends = _number([table.column(name) for table in tables for name in ("head", "tail")])
    relations, links = _number([table.column("relation") for table in tables])
    columns = zip(ends[::2], links, ends[1::2], strict=True)
    return Encoded(entities, relations, tuple(np.stack(triple, axis=1) for triple in columns))


def _number(columns: list[pa.ChunkedArray]) -> tuple[tuple[str, ...], list[Integers]]:
    """Return the distinct names in the order of first appearance, and the numbers of the values of each column."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode().unify_dictionaries()
    names = tuple(encoded.chunk(0).dictionary.to_pylist()) if encoded.num_chunks else ()
    numbers = np.concatenate([np.zeros(0, np.int64), *(chunk.indices.to_numpy() for chunk in encoded.chunks)])
    return names, np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])


def encode_splits(tables: Sequence[Table], strict: bool = False) -> Encoded:
    """Number the triples of train, valid and test, drop duplicates, and note other problems.

    Args:
        tables: The triples of train, valid and test.
        strict: Whether to refuse entities and relations of valid and test that train does not have.
    """
    if not len(tables[0]):
        raise DataError(f"{tables[0].source}: there are no triples to train on; put at least one triple there")
    encoded = encode([table.data for table in tables])
    keys = key_triples(encoded.splits)
    splits, notes = _drop_duplicates(encoded.splits, keys, tables)
    notes += _note_overlaps(keys, tables)
    notes += _note_unseen(encoded, tables, strict)
    for name, table in zip(SPLITS[1:], tables[1:], strict=True):
        if table.absent:
            notes.append(f"There are no {name} triples: there is no {name} file in {table.source}.")
        elif not len(table):
            notes.append(Remark(f"There are no {name} triples: {table.source} is empty."))
    found = [note for table in tables for note in table.notes]
    weights = gather_weights(tables, encoded.splits)
    notes += [weights.note] if weights else []
    return Encoded(encoded.entities, encoded.relations, tuple(splits), (*found, *notes), weights=weights)


def encode_and_split(table: Table, rule: SplitRule) -> Encoded:
    """Number the triples of one table, drop duplicates, and split them by the names of the triples."""
    if not len(table):
        raise DataError(f"{table.source} holds no triples; give it lines of head, relation, tail")
    encoded = encode([table.data])
    (triples,), notes = _drop_duplicates(encoded.splits, key_triples(encoded.splits), [table])
    weights = gather_weights([table], encoded.splits)
    notes += [weights.note] if weights else []
    parts = rule.assign(triples, encoded.entities, encoded.relations)
    splits = tuple(triples[parts == part] for part in range(len(SPLITS)))
    sizes = ", ".join(f"{len(split):,} to {name}" for name, split in zip(SPLITS, splits, strict=True))
    note = (
        f"{table.source} was split with seed {rule.seed}: {sizes}. The first triple of each entity and relation is "
        f"kept in train ({int(mark_first(triples).sum()):,} in all), so that valid and test have no unseen names. Rows "
        "added later do not move triples between splits."
    )
    all_, held = (np.bincount(each[:, 1], minlength=len(encoded.relations)) for each in (triples, triples[parts > 0]))
    never = [encoded.relations[number] for number in np.flatnonzero((all_ >= MANY) & (held == 0))]
    if never and held.any():
        listed = ", ".join(never[:LISTED]) + " and others" * (len(never) > LISTED)
        notes += [f"No triples of {listed} are held out: each is the first of an entity. Shuffle the rows to evaluate."]
    return Encoded(encoded.entities, encoded.relations, splits, (*table.notes, *notes, Remark(note)), rule, weights)


@dataclass(frozen=True)
class SplitRule:
    """Split of triples by a hash of their names: rows that are added later move no triple to another split.

    Attributes:
        seed: Random seed.
        valid_share: Share of the triples for valid.
        test_share: Share of the triples for test.
    """

    seed: int = 0
    valid_share: float = 0.1
    test_share: float = 0.1

    def __post_init__(self) -> None:
        """Refuse a seed that cannot start a random stream, and shares that leave no triples to train on."""
        for name, share in (("valid", self.valid_share), ("test", self.test_share)):
            if not (isinstance(share, Real) and 0 <= share < 1):
                raise DataError(f"the {name} share is {share!r}; give a number from 0 to below 1, such as 0.1")
        if self.valid_share + self.test_share >= 1:
            raise DataError(
                f"the shares of valid ({self.valid_share}) and test ({self.test_share}) leave no triples to train on; "
                "give shares that sum to less than 1"
            )
        if not (isinstance(self.seed, Integral) and self.seed >= 0):
            raise DataError(f"the seed is {self.seed!r}; give a whole number from 0 on")

    def assign(
        self, triples: Triples, entities: Sequence[str], relations: Sequence[str], known: tuple[int, int] = (0, 0)
    ) -> Integers:
        """Return the split of each triple: train (0), valid (1) or test (2), (n,).

        The first triple, in this order, with an entity or a relation goes to train.

        Args:
            triples: (n, 3) distinct triples.
            entities: Names of the entities.
            relations: Names of the relations.
            known: Numbers of entities and relations, the first of each, that train has already.
        """
        draws = self._draw(triples, entities, relations)
        parts = np.select([draws < self.valid_share, draws < self.valid_share + self.test_share], [1, 2])
        return np.where(mark_first(triples, *known), 0, parts)

    def _draw(self, triples: Triples, entities: Sequence[str], relations: Sequence[str]) -> Floats:
        """Return a number from 0 to below 1 for each triple, which depends on its names and the seed only."""
        entity_hashes, relation_hashes = (_hash_names(names, self.seed) for names in (entities, relations))
        mixed = np.zeros(len(triples), dtype=np.uint64)
        for column, hashes in enumerate((entity_hashes, relation_hashes, entity_hashes)):
            mixed = mixed + hashes[triples[:, column]]
            for shift, factor in _MIXING:  # the finalizer of SplitMix64
                mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
            mixed ^= mixed >> np.uint64(31)
        return np.asarray((mixed >> np.uint64(11)) * 2.0**-53)


def _hash_names(names: Sequence[str], seed: int) -> npt.NDArray[np.uint64]:
    """Return a number of 64 bits for each name, the same on every machine."""
    digests = (hashlib.blake2b(f"{seed}\n{name}".encode(), digest_size=8).digest() for name in names)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def keep_distinct(triples: Triples) -> Triples:
    """Return the first of equal triples, in their order."""
    return triples[np.sort(np.unique(key_triples([triples])[0], return_index=True)[1])]


def mark_first(triples: Triples, known_entities: int = 0, known_relations: int = 0) -> Booleans:
    """Mark each triple that is the first, in this order, with one of its entities or its relation.

    Args:
        triples: (n, 3) triples.
        known_entities: Number of entities, the first ones, that were seen before.
        known_relations: Number of such relations.
    """
    first = np.zeros(len(triples), dtype=np.bool_)
    for columns, known in (((0, 2), known_entities), ((1,), known_relations)):
        names, places = np.unique(triples[:, columns].reshape(-1), return_index=True)
        first[places[names >= known] // len(columns)] = True
    return first


def _drop_duplicates(
    splits: Sequence[Triples], keys: Sequence[Integers], tables: Sequence[Table]
) -> tuple[list[Triples], list[str]]:
    """Keep the first of equal rows within each split, in order; note how many were dropped."""
    kept, notes = list(splits), []
    for number, (key, table) in enumerate(zip(keys, tables, strict=True)):
        dropped = len(key) - len(sort_distinct(key))
        if not dropped:
            continue
        is_first = np.zeros(len(key), dtype=np.bool_)
        is_first[np.unique(key, return_index=True)[1]] = True
        kept[number] = splits[number][is_first]
        amount = "1 duplicate row was" if dropped == 1 else f"{dropped:,} duplicate rows were"
        where = table.locate(int(np.argmin(is_first)))
        weights = "; the weights of equal rows were combined" if "weight" in table.data.column_names else ""
        notes.append(f"{amount} dropped from {table.source} (first: {where}){weights}.")
    return kept, notes


def _note_overlaps(keys: Sequence[Integers], tables: Sequence[Table]) -> list[str]:
    """Note which splits share triples."""
    notes = []
    ordered = [np.sort(key) for key in keys]
    for earlier, later in combinations(range(len(keys)), 2):
        shared = is_among(keys[later], ordered[earlier])
        if shared.any():
            count = len(sort_distinct(keys[later][shared]))
            notes.append(
                f"The splits overlap: {count:,} triple{'s' * (count != 1)} of {tables[later].source} "
                f"{'is' if count == 1 else 'are'} also in {tables[earlier].source} "
                f"(first: {tables[later].locate(int(np.argmax(shared)))}). Keep each triple in one file only; results "
                "on shared triples mean little."
            )
    return notes


def _note_unseen(encoded: Encoded, tables: Sequence[Table], strict: bool) -> list[str]:
    """Note, or under `strict` refuse, names that valid and test have and train does not."""
    notes = []
    for kinds, columns, names in (
        (("entity", "entities"), (0, 2), encoded.entities),
        (("relation", "relations"), (1,), encoded.relations),
    ):
        seen = np.zeros(len(names), dtype=np.bool_)
        seen[encoded.splits[0][:, columns]] = True
        if seen.all():
            continue
        touched = [~seen[triples[:, columns]].all(axis=1) for triples in encoded.splits]
        split = next(number for number, rows in enumerate(touched) if rows.any())
        row = int(np.argmax(touched[split]))
        unknown = next(names[n] for n in encoded.splits[split][row, columns].tolist() if not seen[n])
        first = f"{unknown!r} in {tables[split].locate(row)}"
        count = int((~seen).sum())
        amount = f"{count:,} {kinds[count != 1]} of valid or test never occur{'s' * (count == 1)} in train"
        if strict:
            raise DataError(
                f"{amount} (first: {first}); add triples about {'it' if count == 1 else 'them'} to train, drop those "
                "rows, or read without strict (--strict, strict=True)"
            )
        sizes = " and ".join(f"{int(touched[n].sum()):,} {SPLITS[n]}" for n in range(1, len(touched)))
        notes.append(f"{amount} ({sizes} triples; first: {first}). Nothing can be learned about such names.")
    return notes
