"""Splitting facts into train, valid and test so that train knows every name."""

from __future__ import annotations

import numpy as np

from itransf.data.encoding import Triples
from itransf.errors import DataError

VALID_SHARE = 0.1
TEST_SHARE = 0.1


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
        if not 0 <= share < 1:
            raise DataError(f"the {name} share is {share}; give a number from 0 to below 1, such as 0.1")
    if valid_share + test_share >= 1:
        raise DataError(
            f"the shares of valid ({valid_share}) and test ({test_share}) leave nothing to train on; "
            "give shares that sum to less than 1"
        )
