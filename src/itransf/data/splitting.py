"""Splitting facts into train, valid and test so that train knows every name."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from itransf.data.checking import drop_duplicates, key_facts
from itransf.data.encoding import Encoded, Triples, encode
from itransf.data.notes import Remark
from itransf.data.tables import FactTable
from itransf.errors import DataError

VALID_SHARE = 0.1
TEST_SHARE = 0.1


def split_table(
    table: FactTable, valid_share: float = VALID_SHARE, test_share: float = TEST_SHARE, seed: int = 0
) -> tuple[Encoded, tuple[Triples, Triples, Triples], tuple[str, ...]]:
    """Number the facts of one table and split them.

    Returns:
        The numbered names, train, valid and test, and notes: plain sentences.
    """
    if not len(table):
        raise DataError(f"{table.source} holds no facts; give it lines of head, relation, tail")
    encoded = encode([table.facts])
    keys = key_facts(encoded.tables, len(encoded.entities), len(encoded.relations))
    (facts,), notes = drop_duplicates(encoded.tables, keys, [table])
    train, valid, test = split_facts(facts, valid_share, test_share, seed)
    sizes = f"{len(train):,} to train, {len(valid):,} to valid, {len(test):,} to test"
    told = f"{table.source} was split with seed {seed}: {sizes}."
    wanted = round(len(facts) * valid_share) + round(len(facts) * test_share)
    if len(facts) - len(train) < wanted:
        told += f" {wanted:,} were to be held out, but every entity and relation stays in train."
    return encoded, (train, valid, test), (*table.notes, *notes, Remark(told))


def split_facts(
    facts: Triples, valid_share: float = VALID_SHARE, test_share: float = TEST_SHARE, seed: int = 0
) -> tuple[Triples, Triples, Triples]:
    """Split facts at random, reproducibly, keeping every entity and relation in train.

    Facts are shuffled; the first fact of each entity and each relation is bound to train, and valid and test
    are drawn from the others. Each split keeps the order the facts came in.

    Args:
        facts: (n, 3) distinct facts.
        valid_share: The share of facts to hold out for valid; fewer where too few are free.
        test_share: The share of facts to hold out for test.
        seed: Which of the possible splits; the same seed gives the same split.

    Returns:
        Train, valid and test.
    """
    _check_shares(valid_share, test_share)
    check_seed(seed)
    shuffled = np.random.default_rng(seed).permutation(len(facts))
    free = shuffled[~_mark_first(facts[shuffled])]
    valid_size, test_size = (round(len(facts) * share) for share in (valid_share, test_share))
    if valid_size + test_size > len(free):
        # Too few are free: both give way in proportion.
        valid_size = len(free) * valid_size // (valid_size + test_size)
        test_size = len(free) - valid_size
    part = np.zeros(len(facts), dtype=np.int64)
    part[free[:valid_size]] = 1
    part[free[valid_size : valid_size + test_size]] = 2
    return facts[part == 0], facts[part == 1], facts[part == 2]


def check_seed(seed: int) -> None:
    """Refuse what cannot start a random stream."""
    if not (isinstance(seed, Integral) and seed >= 0):
        raise DataError(f"the seed is {seed!r}; give a whole number from 0 on")


def _mark_first(facts: Triples) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark each fact that is the first, in this order, to hold one of its entities or its relation."""
    first = np.zeros(len(facts), dtype=np.bool_)
    ends = np.stack((facts[:, 0], facts[:, 2]), axis=1).reshape(-1)  # head and tail of one fact side by side
    first[np.unique(ends, return_index=True)[1] // 2] = True
    first[np.unique(facts[:, 1], return_index=True)[1]] = True
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
