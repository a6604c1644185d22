"""Splitting triples into train, valid and test so that train knows every name."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from itransf.data.checking import drop_duplicates, key_triples
from itransf.data.encoding import Encoded, Triples, encode
from itransf.data.notes import Remark
from itransf.data.tables import TripleTable
from itransf.errors import DataError

VALID_SHARE = 0.1
TEST_SHARE = 0.1


def split_table(
    table: TripleTable, valid_share: float = VALID_SHARE, test_share: float = TEST_SHARE, seed: int = 0
) -> tuple[Encoded, tuple[Triples, Triples, Triples], tuple[str, ...]]:
    """Number the triples of one table and split them.

    Returns:
        The numbered names, train, valid and test, and notes: plain sentences.
    """
    if not len(table):
        raise DataError(f"{table.source} holds no triples; give it lines of head, relation, tail")
    encoded = encode([table.triples])
    keys = key_triples(encoded.tables, len(encoded.entities), len(encoded.relations))
    (triples,), notes = drop_duplicates(encoded.tables, keys, [table])
    train, valid, test = split_triples(triples, valid_share, test_share, seed)
    sizes = f"{len(train):,} to train, {len(valid):,} to valid, {len(test):,} to test"
    told = f"{table.source} was split with seed {seed}: {sizes}."
    wanted = round(len(triples) * valid_share) + round(len(triples) * test_share)
    if len(triples) - len(train) < wanted:
        told += f" {wanted:,} were to be held out, but every entity and relation stays in train."
    return encoded, (train, valid, test), (*table.notes, *notes, Remark(told))


def split_triples(
    triples: Triples, valid_share: float = VALID_SHARE, test_share: float = TEST_SHARE, seed: int = 0
) -> tuple[Triples, Triples, Triples]:
    """Split triples at random, reproducibly, keeping every entity and relation in train.

    Triples are shuffled; the first triple of each entity and each relation is bound to train, and valid and test
    are drawn from the others. Each split keeps the order the triples came in.

    Args:
        triples: (n, 3) distinct triples.
        valid_share: The share of triples to hold out for valid; fewer where too few are free.
        test_share: The share of triples to hold out for test.
        seed: Which of the possible splits; the same seed gives the same split.

    Returns:
        Train, valid and test.
    """
    _check_shares(valid_share, test_share)
    check_seed(seed)
    shuffled = np.random.default_rng(seed).permutation(len(triples))
    free = shuffled[~_mark_first(triples[shuffled])]
    valid_size, test_size = (round(len(triples) * share) for share in (valid_share, test_share))
    if valid_size + test_size > len(free):
        # Too few are free: both give way in proportion.
        valid_size = len(free) * valid_size // (valid_size + test_size)
        test_size = len(free) - valid_size
    part = np.zeros(len(triples), dtype=np.int64)
    part[free[:valid_size]] = 1
    part[free[valid_size : valid_size + test_size]] = 2
    return triples[part == 0], triples[part == 1], triples[part == 2]


def check_seed(seed: int) -> None:
    """Refuse what cannot start a random stream."""
    if not (isinstance(seed, Integral) and seed >= 0):
        raise DataError(f"the seed is {seed!r}; give a whole number from 0 on")


def _mark_first(triples: Triples) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark each triple that is the first, in this order, to hold one of its entities or its relation."""
    first = np.zeros(len(triples), dtype=np.bool_)
    ends = np.stack((triples[:, 0], triples[:, 2]), axis=1).reshape(-1)  # head and tail of one triple side by side
    first[np.unique(ends, return_index=True)[1] // 2] = True
    first[np.unique(triples[:, 1], return_index=True)[1]] = True
    return first


def _check_shares(valid_share: float, test_share: float) -> None:
    """Refuse shares that leave nothing to train on."""
    for name, share in (("valid", valid_share), ("test", test_share)):
        if not (isinstance(share, Real) and 0 <= share < 1):
            raise DataError(f"the {name} share is {share!r}; give a number from 0 to below 1, such as 0.1")
    if valid_share + test_share >= 1:
        raise DataError(
            f"the shares of valid ({valid_share}) and test ({test_share}) leave nothing to train on; "
            "give shares that sum to less than 1"
        )
