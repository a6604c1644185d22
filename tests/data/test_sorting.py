from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from itransf.data.sorting import is_among, sort_distinct

NUMBERS = st.lists(st.integers(-5, 5), max_size=20)


@given(NUMBERS, NUMBERS)
def test_sorting_agrees_with_sets(values: list[int], others: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    distinct = sort_distinct(np.array(others, dtype=np.int64))
    assert distinct.tolist() == sorted(set(others))
    assert is_among(array, distinct).tolist() == [value in others for value in values]
