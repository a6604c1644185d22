"""What is odd about triples that were read: duplicates, overlapping splits, names train does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from itransf.data.encoding import Encoded, Triples
from itransf.data.notes import Remark
from itransf.data.sorting import Integers, is_among, sort_distinct
from itransf.data.tables import TripleTable
from itransf.errors import DataError

_SPLITS = ("train", "valid", "test")


def tidy(
    encoded: Encoded, tables: Sequence[TripleTable], strict: bool = False
) -> tuple[tuple[Triples, ...], tuple[str, ...]]:
    """Drop duplicate rows and say what else is odd.

    Args:
        encoded: The triples of train, valid and test, as numbers.
        tables: The same triples as they were read, to name places.
        strict: Refuse entities and relations of valid and test that train does not hold.

    Returns:
        The three splits without duplicates, and notes: plain sentences.
    """
    if not len(tables[0]):
        raise DataError(f"{tables[0].source}: there are no triples to train on; put at least one triple there")
    keys = key_triples(encoded.tables, len(encoded.entities), len(encoded.relations))
    splits, notes = drop_duplicates(encoded.tables, keys, tables)
    notes += _note_overlaps(keys, tables)
    notes += _note_unseen(encoded, tables, strict)
    for name, table in zip(_SPLITS[1:], tables[1:], strict=True):
        if not len(table):
            told = f"There are no {name} triples: "
            missing = f"{told}there is no {name} file in {table.source}."
            notes.append(missing if table.absent else Remark(f"{told}{table.source} is empty."))
    return tuple(splits), tuple(notes)


def key_triples(splits: Sequence[Triples], entity_count: int, relation_count: int) -> list[Integers]:
    """Return one number per triple, the same for the same triple in any split."""
    together = np.concatenate(list(splits))
    pairs = together[:, 0] * relation_count + together[:, 1]
    if entity_count * relation_count * entity_count >= 2**63:
        # Number the pairs that occur, so that pair and tail fit 64 bits together.
        pairs = np.unique(pairs, return_inverse=True)[1].reshape(-1).astype(np.int64)
    keys = pairs * entity_count + together[:, 2]
    return np.split(keys, np.cumsum([len(split) for split in splits])[:-1])


def drop_duplicates(
    splits: Sequence[Triples], keys: Sequence[Integers], tables: Sequence[TripleTable]
) -> tuple[list[Triples], list[str]]:
    """Keep the first of equal rows within each split, in order; say how many went."""
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


def _note_overlaps(keys: Sequence[Integers], tables: Sequence[TripleTable]) -> list[str]:
    """Say which splits share triples."""
    notes = []
    ordered = [np.sort(key) for key in keys]
    for earlier, later in combinations(range(len(keys)), 2):
        shared = is_among(keys[later], ordered[earlier])
        if shared.any():
            count = len(sort_distinct(keys[later][shared]))
            where = tables[later].locate(int(np.argmax(shared)))
            notes.append(
                f"The splits overlap: {count:,} triple{'s' * (count != 1)} of {tables[later].source} "
                f"also stand{'s' * (count == 1)} in {tables[earlier].source} (first: {where}). "
                "Keep each triple in one file only, or results on it say little."
            )
    return notes


def _note_unseen(encoded: Encoded, tables: Sequence[TripleTable], strict: bool) -> list[str]:
    """Say, or under `strict` refuse, which names valid and test hold and train does not."""
    notes = []
    for kind, columns, names in (
        ("entity", (0, 2), encoded.entities),
        ("relation", (1,), encoded.relations),
    ):
        seen = np.zeros(len(names), dtype=np.bool_)
        for column in columns:
            seen[encoded.tables[0][:, column]] = True
        if seen.all():
            continue
        touched = [~seen[triples[:, columns]].all(axis=1) for triples in encoded.tables]
        split = next(number for number, rows in enumerate(touched) if rows.any())
        row = int(np.argmax(touched[split]))
        unknown = next(names[n] for n in encoded.tables[split][row, columns].tolist() if not seen[n])
        first = f"{unknown!r} in {tables[split].locate(row)}"
        sizes = " and ".join(f"{int(touched[n].sum()):,} {_SPLITS[n]}" for n in range(1, len(touched)))
        notes.append(_tell_unseen(kind, int((~seen).sum()), first, sizes, strict))
    return notes


def _tell_unseen(kind: str, count: int, first: str, sizes: str, strict: bool) -> str:
    """Return the note about unseen names, or raise it under `strict`."""
    plural = {"entity": "entities", "relation": "relations"}[kind]
    amount = (
        f"{count:,} {kind} of valid or test never occurs"
        if count == 1
        else (f"{count:,} {plural} of valid or test never occur")
    )
    them = "it" if count == 1 else "them"
    if strict:
        raise DataError(
            f"{amount} in train, the first {first}; "
            f"add triples about {them} to train, drop those rows, "
            f"or keep {them} by not asking for strict reading (--strict, strict=True)"
        )
    return (
        f"{amount} in train ({sizes} triples touch one; first: {first}): kept, but nothing can be learned about {them}."
    )
