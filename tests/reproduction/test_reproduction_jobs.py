from __future__ import annotations

from dataclasses import replace

import pytest
from reproduction.experiments import WHOLE, Row, Scope
from reproduction.jobs import QUICK, QUICK_RATES, Job

from itransf.presets import list_presets

SMALL = Scope(quick=True)


def test_a_key_names_what_a_job_is_made_of() -> None:
    job = replace(Row("", "wn18/itransf", set=("model.concepts=18",)).make_job(), seed=2)
    assert (job.key, job.row_key) == ("wn18-itransf+model.concepts=18-seed2", "wn18-itransf+model.concepts=18")
    assert Row("", "fb15k/itransf").make_job(SMALL).key == "quick-planted-fb15k-itransf-seed0"
    assert Row("", dataset="fb15k", method="rules").make_job().key == "fb15k-rules"


def test_whatever_differs_has_another_key() -> None:
    job = Job("wn18", "wn18/stranse", ("model.dim=4",))
    others = [
        replace(job, dataset="world"),
        replace(job, preset="wn18/itransf"),
        replace(job, settings=("model.dim=40",)),
        replace(job, seed=1),
        replace(job, method="sparse-coding"),
        replace(job, options=("atoms=3",)),
        replace(job, quick=True),
    ]
    assert len({job.key, *(other.key for other in others)}) == 8
    assert replace(job, settings=("model.dim=4", "checkpoint.minutes=1")).key == job.key


def test_a_key_is_a_short_plain_file_name() -> None:
    settings = tuple(f"model.number_{number}=1" for number in range(20))
    first, second = (Job("wn18", "wn18/itransf", (*settings, last)) for last in ("a=1", "a=2"))
    assert len(first.key) < 200
    assert first.key != second.key
    assert "/" not in Job("wn18", "wn18/itransf", ("warm_start.run=runs/first one",)).key


def test_a_job_survives_storage() -> None:
    job = Job("wn18", "wn18/stranse", ("model.dim=4",), 3, "sparse-coding", ("atoms=3",), True)
    assert Job.read(job.to_dict()) == job
    assert job.training == Job("wn18", "wn18/stranse", ("model.dim=4",), 3, quick=True)
    longer = Job("wn18", "wn18/itransf", ("model.concepts=22", "training.epochs=2000"), 1)
    assert longer.timing == Job("wn18", "wn18/itransf", ("model.concepts=22",), 0, "timing")


@pytest.mark.parametrize("preset", list_presets())
def test_a_quick_version_keeps_the_optimiser_and_a_learning_rate_that_fits_it(preset: str) -> None:
    whole, quick = (Row("", preset).make_job(scope).resolve() for scope in (WHOLE, SMALL))
    assert getattr(quick.model, "dim", QUICK["model.dim"]) == QUICK["model.dim"]  # a linear model has none
    assert quick.training.optimizer == whole.training.optimizer
    assert quick.training.learning_rate == QUICK_RATES[whole.training.optimizer]
    assert (quick.warm_start.epochs == 0) == (whole.warm_start.epochs == 0)


def test_overrides_of_a_quick_version() -> None:
    row = Row("", "wn18/itransf", set=("training.epochs=9", "model.concepts=7"))
    quick = row.make_job(SMALL).resolve()
    assert (quick.training.epochs, quick.model.concepts) == (QUICK["training.epochs"], 7)
    assert row.make_job(Scope(True, settings=("training.epochs=1",))).resolve().training.epochs == 1
    coded = Row("", "wn18/stranse", method="sparse-coding", options=("atoms=300", "nonzeros=5"))
    assert coded.make_job(SMALL).options == ("atoms=12", "nonzeros=3")


def test_the_command_has_all_settings() -> None:
    words = replace(Row("", "wn18/itransf", set=("model.concepts=7",)).make_job(SMALL), seed=5).command
    assert words[:5] == ("itransf", "train", "world", "--preset", "wn18/itransf")
    assert words[-4:] == ("--set", "model.concepts=7", "--seed", "5")
    assert f"training.epochs={QUICK['training.epochs']}" in words
