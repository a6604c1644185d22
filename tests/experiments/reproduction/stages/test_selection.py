from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.records import RESULTS

from experiments.reproduction.conftest import Store
from itransf.experiments.reproduction.choosing import Choice
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING
from itransf.experiments.reproduction.stages import STAGES
from itransf.experiments.reproduction.stages.selection import list_choices

WHOLE = Scope()


@pytest.mark.parametrize("choice", list_choices(), ids=lambda choice: choice.preset)
class TestChoices:
    def test_candidates_are_validated_only_and_all_different(self, choice: Choice) -> None:
        jobs = choice.list_jobs(WHOLE)
        assert {job.method for job in jobs.values()} == {"validate"}
        assert len({str(job.resolve()) for job in jobs.values()}) == len(choice.candidates)

    def test_the_preset_is_what_the_stored_trainings_choose(self, choice: Choice) -> None:
        found = choice.measure(Results(RESULTS / "reproduction"), WHOLE)
        assert len(found) == len(choice.candidates)
        assert {each.seeds for each in found.values()} in ({3}, {5})  # as many of each candidate
        chosen = choice.choose(found)
        assert chosen is not None
        assert choice.list_jobs(WHOLE)[chosen].resolve() == WHOLE.make_job(choice.preset).resolve()


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
