from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.errors import ITransFError
from itransf.prediction.selection import refuse_broken, select_best

LEVELS = st.sampled_from([-torch.inf, -2.0, -1.0, 0.0, 1.0, torch.inf])
ROWS = st.integers(1, 8).flatmap(
    lambda width: st.lists(st.lists(LEVELS, min_size=width, max_size=width), min_size=1, max_size=5)
)


@settings(deadline=None)
@given(ROWS, st.integers(1, 10))
def test_best_equal_a_full_sort_with_ties_by_column(rows: list[list[float]], top: int) -> None:
    values, columns = select_best(torch.tensor(rows), top)
    for row, best, places in zip(rows, values.tolist(), columns.tolist(), strict=True):
        expected = sorted(range(len(row)), key=lambda column: (-row[column], column))[:top]
        assert places == expected
        assert best == [row[column] for column in expected]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
def test_nothing_to_choose_from_gives_nothing(shape: tuple[int, int]) -> None:
    values, columns = select_best(torch.zeros(shape), 4)
    assert values.shape == columns.shape == (shape[0], min(4, shape[1]))
    assert columns.dtype == torch.int64


def test_scores_that_are_no_numbers_are_refused() -> None:
    fine = torch.tensor([[1.0, -torch.inf]])
    assert refuse_broken(fine) is fine
    with pytest.raises(ITransFError, match="diverged"):
        refuse_broken(torch.tensor([[1.0, torch.nan]]))
