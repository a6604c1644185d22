from __future__ import annotations

from dataclasses import replace

import pytest

from itransf.config import assignments_layer, build_config
from itransf.experiments.reproduction.jobs import QUICK, Job, Scope, find_preset
from itransf.models import MODELS
from itransf.presets import list_presets, read_preset

WHOLE, SMALL = Scope(), Scope(quick=True)


def test_a_key_tells_what_a_job_is_made_of() -> None:
    assert WHOLE.make_job("wn18/itransf-domain").key == "wn18-itransf-domain-seed0"
    job = WHOLE.make_job("wn18/itransf", "model.concepts=18", seed=2)
    assert job.key == "wn18-itransf+model.concepts=18-seed2"
    assert job.row_key == "wn18-itransf+model.concepts=18"
    assert SMALL.make_job("fb15k/itransf").key == "quick-planted-fb15k-itransf-seed0"
    assert WHOLE.make_measure("fb15k", "rules").key == "fb15k-rules"


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


def test_how_safely_something_is_trained_is_not_in_its_key() -> None:
    assert WHOLE.make_job("wn18/itransf", "checkpoint.minutes=1").key == WHOLE.make_job("wn18/itransf").key


def test_a_key_is_a_short_plain_file_name() -> None:
    settings = tuple(f"model.number_{number}=1" for number in range(20))
    first, second = (Job("wn18", "wn18/itransf", (*settings, last)) for last in ("a=1", "a=2"))
    assert len(first.key) < 200
    assert first.key != second.key
    assert "/" not in Job("wn18", "wn18/itransf", ("warm_start.run=runs/first one",)).key


def test_a_method_and_its_training_share_the_training() -> None:
    coded = WHOLE.make_job("wn18/stranse", method="sparse-coding", options=("atoms=3",))
    assert coded.training == WHOLE.make_job("wn18/stranse")
    assert coded.key != coded.training.key


def test_a_quick_job_cuts_only_what_its_preset_gives() -> None:
    transe, itransf = (SMALL.make_job(f"wn18/{row}", "training.epochs=3") for row in ("transe", "itransf"))
    assert transe.resolve().warm_start.epochs == 0
    assert itransf.resolve().warm_start.epochs == QUICK["warm_start.epochs"]
    assert itransf.resolve().model.concepts == QUICK["model.concepts"]
    assert itransf.resolve().training.epochs == 3
    assert transe.dataset == "world"
    assert WHOLE.make_job("wn18/itransf").all_settings == ()


@pytest.mark.parametrize("preset", list_presets())
def test_every_preset_has_a_quick_version(preset: str) -> None:
    assert SMALL.make_job(preset).resolve().model.dim == QUICK["model.dim"]


def test_the_command_gives_the_same_settings() -> None:
    job = SMALL.make_job("wn18/itransf", "model.concepts=7", seed=5)
    words = job.words
    settings = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    assert words[:5] == ("itransf", "train", "world", "--preset", "wn18/itransf")
    assert words[-2:] == ("--seed", "5")
    kinds = {name: model.Config for name, model in MODELS.items()}
    layers = [read_preset("wn18/itransf"), assignments_layer([*settings, "seed=5"])]
    assert build_config(layers, kinds) == job.resolve()


def test_settings_of_a_scope_override_all_else() -> None:
    scope = Scope(quick=True, settings=("training.epochs=1",))
    assert scope.make_job("wn18/itransf", "training.epochs=9").resolve().training.epochs == 1


def test_seeds_are_asked_for_or_usual_and_measures_are_there_once() -> None:
    jobs = [WHOLE.make_job("wn18/transe"), WHOLE.make_measure("wn18", "rules"), WHOLE.make_job("fb15k/transe")]
    usual = [(job.dataset, job.seed) for job in WHOLE.repeat(jobs, 2)]
    assert usual == [("wn18", 0), ("wn18", 0), ("fb15k", 0), ("wn18", 1), ("fb15k", 1)]
    asked = Scope(seeds=(7,)).repeat(jobs, 2)
    assert [job.seed for job in asked] == [0, 7, 7]


def test_a_model_without_a_preset_is_trained_as_stranse() -> None:
    assert find_preset("wn18", "itransf") == ("wn18/itransf", ())
    assert find_preset("fb15k", "no-such-row") == ("fb15k/stranse", ("model.name=no-such-row",))
