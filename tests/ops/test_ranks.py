from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.ops.ranks import count_rivals

CANDIDATES = 5
QUERY = st.tuples(
    st.lists(st.integers(0, 2), min_size=CANDIDATES, max_size=CANDIDATES),
    st.integers(0, CANDIDATES - 1),
    st.sets(st.integers(0, CANDIDATES - 1)),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(QUERY, min_size=1, max_size=6))
def test_counts_equal_brute_force(queries: list[tuple[list[int], int, set[int]]]) -> None:
    scores = torch.tensor([row for row, _, _ in queries], dtype=torch.float32)
    answers = torch.tensor([answer for _, answer, _ in queries])
    sizes = [len(known) for _, _, known in queries]
    offsets = torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()])
    known = torch.tensor([c for _, _, known in queries for c in sorted(known)], dtype=torch.int64)
    above, tied = count_rivals(scores, answers, offsets, known)
    for place, (row, answer, left_out) in enumerate(queries):
        everyone = [c for c in range(CANDIDATES) if c != answer]
        unknown = [c for c in everyone if c not in left_out]
        for protocol, rivals in enumerate((unknown, everyone)):
            assert above[protocol, place] == sum(row[c] > row[answer] for c in rivals)
            assert tied[protocol, place] == sum(row[c] == row[answer] for c in rivals)


def test_infinite_scores_are_compared_like_others() -> None:
    scores = torch.tensor([[float("-inf"), float("-inf"), 0.0]])
    above, tied = count_rivals(scores, torch.tensor([0]), torch.tensor([0, 0]), torch.zeros(0, dtype=torch.int64))
    assert (above.tolist(), tied.tolist()) == ([[1], [1]], [[1], [1]])


def test_a_broken_score_is_never_better_than_the_first_place() -> None:
    """A model that went to NaN must not look perfect: no count may fall below zero."""
    scores = torch.full((1, 3), float("nan"))
    above, tied = count_rivals(scores, torch.tensor([1]), torch.tensor([0, 1]), torch.tensor([1]))
    assert bool((tied >= 0).all())
    assert bool((above + tied > 0).all())
