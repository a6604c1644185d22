from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.records import RESULTS

from experiments.reproduction.conftest import Store
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING
from itransf.experiments.reproduction.stages import STAGES, selection
from itransf.experiments.reproduction.stages.selection import CANDIDATES, Figures, choose

WHOLE = Scope()


@pytest.mark.parametrize(
    ("others", "chosen"),
    [
        ({}, "best"),
        ({"lower": Figures(60.0, 0.799, 3)}, "lower"),
        ({"lower": Figures(60.0, 0.799, 3), "lowest": Figures(50.0, 0.7979, 3)}, "lower"),
        ({"lower": Figures(60.0, 0.7979, 3)}, "best"),
        ({"higher": Figures(70.0, 0.7999, 3)}, "best"),
    ],
)
def test_the_lowest_mean_rank_wins_where_hits_lack_little(others: dict[str, Figures], chosen: str) -> None:
    assert choose({"best": Figures(65.0, 0.8, 3), **others}) == chosen


def test_candidates_are_validated_only_and_fully_given() -> None:
    for preset in selection.PRESETS:
        jobs = selection.list_candidates(WHOLE, preset)
        assert {job.method for job in jobs.values()} == {"validate"}
        lengths = {(job.resolve().training.epochs, job.resolve().training.average) for job in jobs.values()}
        assert len(lengths) == len(CANDIDATES)


def test_what_the_preset_is_shares_its_training(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = WHOLE.make_job("fb15k/itransf").resolve().training
    same = tuple(f"training.{key}={getattr(usual, key)}" for key in ("epochs", "decay", "average"))
    monkeypatch.setitem(CANDIDATES, "as it is", same)
    job = selection.list_candidates(WHOLE, "fb15k/itransf")["as it is"]
    assert job.settings == ()
    assert job.training == WHOLE.make_job("fb15k/itransf")


def test_the_chosen_one_is_marked_once_all_are_measured(results: Results, store: Store) -> None:
    jobs = selection.list_candidates(WHOLE, "fb15k/itransf")
    first, second, third = jobs
    for words, mr in ((first, 66.0), (second, 62.0)):
        for seed in range(3):
            store(replace(jobs[words], seed=seed), mr=mr + seed, hits=0.81)
    table = STAGES["selection"].render(results, WHOLE).tables[1]
    assert [row[-1] for row in table.rows] == ["", "", ""]
    assert table.rows[2][1] == MISSING
    store(jobs[third], mr=50.0, hits=0.7)
    table = STAGES["selection"].render(results, WHOLE).tables[1]
    assert table.rows[1] == (second, "63.0", "81.00", "3", "chosen")
    assert [row[-1] for row in table.rows] == ["", "chosen", ""]


def test_presets_are_what_the_stored_trainings_choose() -> None:
    stored = Results(RESULTS / "reproduction")
    for preset in selection.PRESETS:
        figures = selection.measure(stored, WHOLE, preset)
        assert [each.seeds for each in figures.values()] == [3] * len(CANDIDATES)
        assert selection.list_candidates(WHOLE, preset)[choose(figures)].settings == ()
