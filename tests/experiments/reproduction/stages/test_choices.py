from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.reproduction.conftest import Store
from itransf.experiments.reproduction.drawing import write_picture
from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.stages import STAGES
from itransf.experiments.reproduction.stages.choices import (
    AS_IT_IS,
    VARIANTS,
    Figures,
    find_better,
    find_room,
    list_variants,
    write_trade,
)

WHOLE, QUICK = Scope(), Scope(quick=True)


def test_each_variant_changes_something_and_is_validated_only() -> None:
    jobs = list_variants(WHOLE)
    assert set(jobs) == set(VARIANTS)
    assert len({str(job.resolve()) for job in jobs.values()}) == len(VARIANTS)
    assert {job.method for job in jobs.values()} == {"validate"}


def test_a_quick_version_varies_what_it_does_not_give_itself() -> None:
    jobs = list_variants(QUICK)
    assert "the first concepts follow train" in jobs
    assert "twice as many epochs" not in jobs


def test_means_stand_before_the_extremes_of_the_seeds(results: Results, store: Store) -> None:
    jobs = list_variants(WHOLE)
    for seed, mr in enumerate((200.0, 220.0, 210.0)):
        store(replace(jobs[AS_IT_IS], seed=seed), mr=mr, hits=0.94, rare_hits=0.8 + 0.03 * seed)
    store(jobs["one negative"], mr=230.0, hits=0.95, rare_hits=0.9)
    store(jobs["16 negatives"], mr=190.0, hits=0.95, rare_hits=0.9)
    section = STAGES["choices"].render(results, WHOLE)
    rows = {row[1]: row[2:] for row in section.tables[0].rows}
    assert rows[AS_IT_IS] == ("210 (200–220)", "94.0 (94.0–94.0)", "83.0 (80.0–86.0)", "3", "")
    assert rows["one negative"] == ("230", "95.0", "90.0", "1", "")
    assert rows["16 negatives"] == ("190", "95.0", "90.0", "1", "is better")
    assert rows["half the rate"] == ("not measured yet", "–", "–", "0", "")
    assert not section.pictures


def test_the_picture_has_the_numbers_of_the_table(results: Results, store: Store, tmp_path: Path) -> None:
    for number, job in enumerate(list_variants(WHOLE).values()):
        store(job, mr=200.0 + number % 6, hits=0.94 + 0.01 * (number // 6), rare_hits=0.9 - 0.01 * (number // 6))
    section = STAGES["choices"].render(results, WHOLE)
    assert [row[0] for row in section.tables[0].rows] == [str(number) for number in range(len(VARIANTS))]
    (picture,) = section.pictures
    pytest.importorskip("matplotlib")
    for panel in picture.draw().axes:
        shown = [text.get_text() for text in panel.texts]
        assert shown == [str(number) for number in range(1, len(VARIANTS))]  # the first is the preset
    assert write_picture(picture, tmp_path).stat().st_size > 5000


def test_a_trade_is_a_correlation_of_ranks() -> None:
    found = [Figures([float(n)], [0.9 + 0.001 * n**2], [-float(n)]) for n in range(5)]
    assert "with Hits@10 is +1.00, with that of the rarest third -1.00." in write_trade(found)


USUAL = Figures([210.0, 220.0], [0.94, 0.95], [0.8, 0.8])


@pytest.mark.parametrize(
    ("changed", "is_better"),
    [
        (Figures([200.0, 209.0], [0.94, 0.951], [0.7, 0.7]), True),  # each mean rank below all of the preset's
        (Figures([200.0, 219.0], [0.951, 0.96], [0.7, 0.7]), True),  # each Hits@10 above all of the preset's
        (Figures([200.0, 219.0], [0.94, 0.96], [0.9, 0.9]), False),  # on average only
        (Figures([200.0, 209.0], [0.93, 0.95], [0.9, 0.9]), False),  # one figure for the other
        (Figures([220.0, 230.0], [0.96, 0.97], [0.9, 0.9]), False),
        (USUAL, False),
    ],
)
def test_a_change_is_better_in_both_figures_and_beyond_the_seeds_in_one(changed: Figures, is_better: bool) -> None:
    assert find_better({AS_IT_IS: USUAL, "it": changed}) == (["it"] if is_better else [])
    assert find_better({"it": changed}) == []


def test_a_number_covers_no_other_place() -> None:
    places = [(0.0, 0.0), (50.0, 50.0), (53.0, 52.0), (99.0, 0.0), (96.0, 0.0), (100.0, 100.0), (10.0, 90.0)]
    assert find_room(np.array(places)) == [2, 3, 5, 6]  # 1 would cover 2, and 4 would cover 3
