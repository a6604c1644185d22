from __future__ import annotations

import pytest

from itransf.experiments.reproduction.choosing import (
    Figures,
    average,
    take_highest_mrr,
    take_lowest_rank_at_no_cost,
    take_lowest_rank_near_best_hits,
    take_most_of_the_rarest_near_lowest_rank,
)


def figures(mr: float, hits: float, mrr: float = 0.5) -> Figures:
    return Figures(mr, mrr, hits, 3)


@pytest.mark.parametrize(
    ("others", "chosen"),
    [
        ({}, "best"),
        ({"lower": figures(60.0, 0.799)}, "lower"),
        ({"lower": figures(60.0, 0.799), "lowest": figures(50.0, 0.7979)}, "lower"),
        ({"lower": figures(60.0, 0.7979)}, "best"),
        ({"higher": figures(70.0, 0.7999)}, "best"),
    ],
)
def test_the_lowest_mean_rank_wins_where_hits_lack_little(others: dict[str, Figures], chosen: str) -> None:
    assert take_lowest_rank_near_best_hits({"best": figures(65.0, 0.8), **others}) == chosen


@pytest.mark.parametrize(
    ("others", "chosen"),
    [
        ({}, "lowest"),
        ({"level": (101.9, 0.91)}, "level"),
        ({"level": (101.9, 0.89)}, "lowest"),
        ({"higher": (102.1, 0.99)}, "lowest"),
        ({"level": (101.0, 0.91), "also": (102.0, 0.92)}, "also"),
    ],
)
def test_most_of_the_rarest_wins_where_mean_ranks_are_level(
    others: dict[str, tuple[float, float]], chosen: str
) -> None:
    found = {
        words: Figures(mr, 0.5, 0.9, 5, rarest) for words, (mr, rarest) in {"lowest": (100.0, 0.9), **others}.items()
    }
    assert take_most_of_the_rarest_near_lowest_rank(found) == chosen


def test_the_lowest_mean_rank_wins_where_it_costs_no_hits() -> None:
    found = {"half": figures(200.0, 0.9499), "most": figures(210.0, 0.95), "usual": figures(220.0, 0.95)}
    assert take_lowest_rank_at_no_cost("usual", found) == "most"
    assert take_lowest_rank_at_no_cost("usual", {**found, "most": figures(230.0, 0.96)}) == "usual"


def test_the_highest_mrr_wins_whatever_the_rest() -> None:
    assert (
        take_highest_mrr({"a": figures(10.0, 0.9, 0.3), "b": figures(90.0, 0.1, 0.31), "c": figures(5.0, 1, 0.2)})
        == "b"
    )


def test_what_was_not_stored_of_rare_relations_is_left_out() -> None:
    valid = {"mr": 5.0, "mrr": 0.5, "hits@10": 0.8}
    found = average([{"valid": valid, "valid_buckets": [0.1, 0.2, rarest]} for rarest in (0.3, 0.5)])
    assert found == Figures(5.0, 0.5, 0.8, 2, 0.4)
    assert average([{"valid": valid}]).rarest is None
