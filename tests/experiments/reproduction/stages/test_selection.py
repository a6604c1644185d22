from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.records import RESULTS

from experiments.reproduction.conftest import Store
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING
from itransf.experiments.reproduction.stages import STAGES
from itransf.experiments.reproduction.stages.selection import (
    TO_THE_END,
    Choice,
    Figures,
    average,
    list_choices,
    take_highest_mrr,
    take_lowest_rank_at_no_cost,
    take_lowest_rank_near_best_hits,
    take_most_of_the_rarest_near_lowest_rank,
)

WHOLE = Scope()


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
    found = {"half": figures(200.0, 0.9499), "most": figures(210.0, 0.95), TO_THE_END: figures(220.0, 0.95)}
    assert take_lowest_rank_at_no_cost(found) == "most"
    assert take_lowest_rank_at_no_cost({**found, "most": figures(230.0, 0.96)}) == TO_THE_END


def test_the_highest_mrr_wins_whatever_the_rest() -> None:
    assert (
        take_highest_mrr({"a": figures(10.0, 0.9, 0.3), "b": figures(90.0, 0.1, 0.31), "c": figures(5.0, 1, 0.2)})
        == "b"
    )


@pytest.mark.parametrize("choice", list_choices(), ids=lambda choice: choice.base)
class TestChoices:
    def test_candidates_are_validated_only_and_all_different(self, choice: Choice) -> None:
        jobs = choice.list_jobs(WHOLE)
        assert {job.method for job in jobs.values()} == {"validate"}
        assert len({str(job.resolve()) for job in jobs.values()}) == len(choice.candidates)

    def test_presets_are_among_them(self, choice: Choice) -> None:
        candidates = [job.resolve() for job in choice.list_jobs(WHOLE).values()]
        for preset in choice.rules:
            assert candidates.count(WHOLE.make_job(preset).resolve()) == 1

    def test_presets_are_what_the_stored_trainings_choose(self, choice: Choice) -> None:
        found = choice.measure(Results(RESULTS / "reproduction"), WHOLE)
        assert len(found) == len(choice.candidates)
        assert {each.seeds for each in found.values()} in ({3}, {5})  # as many of each candidate
        for preset, words in choice.choose(found).items():
            assert choice.list_jobs(WHOLE)[words].resolve() == WHOLE.make_job(preset).resolve()


def test_the_chosen_one_is_marked_once_all_are_measured(results: Results, store: Store) -> None:
    jobs = list_choices()[1].list_jobs(WHOLE)
    first, second, third = jobs
    for words, mr in ((first, 66.0), (second, 62.0)):
        for seed in range(3):
            store(replace(jobs[words], seed=seed), mr=mr + seed, hits=0.81)
    table = STAGES["selection"].render(results, WHOLE).tables[1]
    assert [row[1] for row in table.rows] == ["", "", ""]
    assert table.rows[2][2] == MISSING
    store(jobs[third], mr=50.0, hits=0.7)
    table = STAGES["selection"].render(results, WHOLE).tables[1]
    assert table.rows[1] == (second, "fb15k/itransf", "63.0", "0.4050", "81.00", "81.0", "3")
    assert [row[1] for row in table.rows] == ["", "fb15k/itransf", ""]


def test_what_was_not_stored_of_rare_relations_is_left_out() -> None:
    valid = {"mr": 5.0, "mrr": 0.5, "hits@10": 0.8}
    found = average([{"valid": valid, "valid_buckets": [0.1, 0.2, rarest]} for rarest in (0.3, 0.5)])
    assert found == Figures(5.0, 0.5, 0.8, 2, 0.4)
    assert average([{"valid": valid}]).rarest is None
