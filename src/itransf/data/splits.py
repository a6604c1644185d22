"""The splits of a graph: names become numbers, duplicates go, one table becomes train, valid and test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from itransf.data.known import Integers, is_among, sort_distinct
from itransf.data.layout import Remark, Table
from itransf.errors import DataError

SPLITS = ("train", "valid", "test")
VALID_SHARE = 0.1
TEST_SHARE = 0.1

Triples = npt.NDArray[np.int64]
"""(n, 3) triples as numbers: head, relation, tail."""


@dataclass(frozen=True)
class Encoded:
    """Triples as numbers over shared names, and what was noted about them.

    Attributes:
        entities: Names in the order of first appearance (heads, then tails, table by table).
        relations: Names in the order of first appearance.
        splits: (n, 3) numbers per table.
        notes: Findings, as plain sentences.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    splits: tuple[Triples, ...]
    notes: tuple[str, ...] = ()


def encode(tables: Sequence[pa.Table]) -> Encoded:
    """Number the names of tables with the string columns head, relation, tail; those of the first table come first."""
    ends = [chunk for table in tables for name in ("head", "tail") for chunk in table.column(name).chunks]
    entities, numbers = _number(ends)
    relations, relation_numbers = _number([chunk for table in tables for chunk in table.column("relation").chunks])
    splits, place = [], 0
    for table in tables:
        count = len(table)
        heads, tails = numbers[2 * place :][:count], numbers[2 * place + count :][:count]
        splits.append(np.stack((heads, relation_numbers[place : place + count], tails), axis=1))
        place += count
    return Encoded(entities, relations, tuple(splits))


def _number(chunks: list[pa.Array]) -> tuple[tuple[str, ...], Integers]:
    """Return the distinct names in the order of first appearance, and every value's number."""
    encoded = pa.chunked_array(chunks, pa.string()).dictionary_encode().unify_dictionaries()
    if not encoded.num_chunks:
        return (), np.zeros(0, dtype=np.int64)
    numbers = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    return tuple(encoded.chunk(0).dictionary.to_pylist()), numbers.astype(np.int64)


def encode_splits(tables: Sequence[Table], strict: bool = False) -> Encoded:
    """Number the triples of train, valid and test, drop duplicates, and note other problems.

    Args:
        tables: The triples of train, valid and test.
        strict: Whether to refuse entities and relations of valid and test that train does not have.
    """
    if not len(tables[0]):
        raise DataError(f"{tables[0].source}: there are no triples to train on; put at least one triple there")
    encoded = encode([table.data for table in tables])
    keys = key_triples(encoded.splits, len(encoded.entities), len(encoded.relations))
    splits, notes = _drop_duplicates(encoded.splits, keys, tables)
    notes += _note_overlaps(keys, tables)
    notes += _note_unseen(encoded, tables, strict)
    for name, table in zip(SPLITS[1:], tables[1:], strict=True):
        if table.absent:
            notes.append(f"There are no {name} triples: there is no {name} file in {table.source}.")
        elif not len(table):
            notes.append(Remark(f"There are no {name} triples: {table.source} is empty."))
    found = [note for table in tables for note in table.notes]
    return Encoded(encoded.entities, encoded.relations, tuple(splits), (*found, *notes))


def encode_and_split(table: Table, valid_share: float, test_share: float, seed: int) -> Encoded:
    """Number the triples of one table, drop duplicates, and split them (see `split_triples`)."""
    if not len(table):
        raise DataError(f"{table.source} holds no triples; give it lines of head, relation, tail")
    encoded = encode([table.data])
    keys = key_triples(encoded.splits, len(encoded.entities), len(encoded.relations))
    (triples,), notes = _drop_duplicates(encoded.splits, keys, [table])
    splits = split_triples(triples, valid_share, test_share, seed)
    sizes = ", ".join(f"{len(split):,} to {name}" for name, split in zip(SPLITS, splits, strict=True))
    note = f"{table.source} was split with seed {seed}: {sizes}."
    wanted = round(len(triples) * valid_share) + round(len(triples) * test_share)
    if len(triples) - len(splits[0]) < wanted:
        note += f" Fewer than the {wanted:,} asked for are held out, because every entity and relation stays in train."
    return Encoded(encoded.entities, encoded.relations, splits, (*table.notes, *notes, Remark(note)))


def split_triples(
    triples: Triples, valid_share: float = VALID_SHARE, test_share: float = TEST_SHARE, seed: int = 0
) -> tuple[Triples, Triples, Triples]:
    """Split triples at random into train, valid and test; every entity and relation stays in train.

    Triples are shuffled; the first triple of each entity and each relation is bound to train, and valid and test are
    drawn from the others. Each split keeps the order of the triples.

    Args:
        triples: (n, 3) distinct triples.
        valid_share: Share of the triples for valid; smaller where too few are free.
        test_share: Share of the triples for test.
        seed: Random seed.
    """
    _check_shares(valid_share, test_share)
    check_seed(seed)
    shuffled = np.random.default_rng(seed).permutation(len(triples))
    free = shuffled[~_mark_first(triples[shuffled])]
    valid_size, test_size = (round(len(triples) * share) for share in (valid_share, test_share))
    if valid_size + test_size > len(free):  # both shrink in proportion
        valid_size = len(free) * valid_size // (valid_size + test_size)
        test_size = len(free) - valid_size
    part = np.zeros(len(triples), dtype=np.int64)
    part[free[:valid_size]] = 1
    part[free[valid_size : valid_size + test_size]] = 2
    return triples[part == 0], triples[part == 1], triples[part == 2]


def check_seed(seed: int) -> None:
    """Refuse a seed that cannot start a random stream."""
    if not (isinstance(seed, Integral) and seed >= 0):
        raise DataError(f"the seed is {seed!r}; give a whole number from 0 on")


def key_triples(splits: Sequence[Triples], entity_count: int, relation_count: int) -> list[Integers]:
    """Return one number per triple, the same for the same triple in any split."""
    together = np.concatenate(list(splits))
    pairs = together[:, 0] * relation_count + together[:, 1]
    if entity_count * relation_count * entity_count >= 2**63:
        # Number the pairs that occur, so that pair and tail fit 64 bits together.
        pairs = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
    keys = pairs * entity_count + together[:, 2]
    return np.split(keys, np.cumsum([len(split) for split in splits])[:-1])


def keep_distinct(triples: Triples, entity_count: int, relation_count: int) -> Triples:
    """Return the first of equal triples, in their order."""
    (keys,) = key_triples([triples], entity_count, relation_count)
    return triples[np.sort(np.unique(keys, return_index=True)[1])]


def _mark_first(triples: Triples) -> npt.NDArray[np.bool_]:
    """Mark each triple that is the first, in this order, with one of its entities or its relation."""
    first = np.zeros(len(triples), dtype=np.bool_)
    first[np.unique(triples[:, (0, 2)].reshape(-1), return_index=True)[1] // 2] = True
    first[np.unique(triples[:, 1], return_index=True)[1]] = True
    return first


def _check_shares(valid_share: float, test_share: float) -> None:
    """Refuse shares that leave no triples to train on."""
    for name, share in (("valid", valid_share), ("test", test_share)):
        if not (isinstance(share, Real) and 0 <= share < 1):
            raise DataError(f"the {name} share is {share!r}; give a number from 0 to below 1, such as 0.1")
    if valid_share + test_share >= 1:
        raise DataError(
            f"the shares of valid ({valid_share}) and test ({test_share}) leave no triples to train on; "
            "give shares that sum to less than 1"
        )


def _drop_duplicates(
    splits: Sequence[Triples], keys: Sequence[Integers], tables: Sequence[Table]
) -> tuple[list[Triples], list[str]]:
    """Keep the first of equal rows within each split, in order; note how many were dropped."""
    kept, notes = [], []
    for triples, key, table in zip(splits, keys, tables, strict=True):
        dropped = len(key) - len(sort_distinct(key))
        if not dropped:
            kept.append(triples)
            continue
        is_first = np.zeros(len(triples), dtype=np.bool_)
        is_first[np.unique(key, return_index=True)[1]] = True
        kept.append(triples[is_first])
        amount = "1 duplicate row was" if dropped == 1 else f"{dropped:,} duplicate rows were"
        where = table.locate(int(np.argmin(is_first)))
        notes.append(f"{amount} dropped from {table.source} (first: {where}).")
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
