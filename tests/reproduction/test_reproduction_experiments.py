"""The experiments that `experiments.toml` describes, against the results that are stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from reproduction.experiments import WHOLE, Experiment, Row, Scope, find_experiments, read_experiments
from reproduction.results import Results
from reproduction.rows import fill
from reproduction.tables import COLUMNS, RELATIVE

from itransf.errors import ConfigError

STORED = Results(Path(__file__).parents[2] / "results" / "reproduction")
SMALL = Scope(quick=True)
EXPERIMENTS = list(read_experiments().values())


@pytest.mark.parametrize(
    "experiment",
    [each for each in EXPERIMENTS if each.name != "models"],  # whose page lists what is not measured yet
    ids=lambda experiment: experiment.name,
)
def test_every_job_has_a_stored_result_with_the_present_settings(experiment: Experiment) -> None:
    jobs = experiment.list_jobs(WHOLE)
    assert jobs
    assert [job.key for job in jobs if STORED.find(job) is None] == []


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_columns_and_pictures_are_known(experiment: Experiment) -> None:
    assert {column for table in experiment.tables for column in table.columns} <= {*COLUMNS, *RELATIVE}
    for picture in experiment.pictures:
        assert all(experiment.find_table(title).rows for title in picture.tables)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_a_quick_version_uses_bundled_graphs_and_settings_that_fit(experiment: Experiment) -> None:
    for job in experiment.list_jobs(SMALL):
        assert job.dataset in ("world", "planted")
        if job.preset:
            config = job.resolve()
            assert config.training.epochs <= 40
            assert getattr(config.model, "concepts", 12) <= 36


def test_every_stored_result_belongs_to_an_experiment() -> None:
    keys = {job.row_key for experiment in EXPERIMENTS for job in experiment.list_jobs(WHOLE)}
    assert {record["row_key"] for record in STORED.records.values()} <= keys
    assert list(STORED.list_outdated()) == []


@pytest.mark.parametrize("table", read_experiments()["selection"].tables, ids=lambda table: table.title)
def test_the_preset_is_what_the_stored_trainings_choose(table: object) -> None:
    filled = fill(table, STORED)  # type: ignore[arg-type]
    assert {len(found.records) for found in filled.rows} in ({3}, {5})  # as many of each candidate
    assert {found.row.method for found in filled.rows} == {"validate"}
    (chosen,) = filled.marked
    assert chosen.row.make_job().resolve() == Row("", filled.table.mark).make_job().resolve()


def test_rows_that_train_the_same_are_there_once() -> None:
    ablation = read_experiments()["ablation"]
    labels = [[row.label for row in table.list_rows(WHOLE)] for table in ablation.tables]
    assert [len(each) for each in labels] == [13, 15, 13, 13]
    assert all(each[0] == "unchanged" for each in labels)
    assert all("no assignment step" in each for each in labels)
    choices = read_experiments()["choices"].tables[0]
    assert "twice as many epochs" in [row.label for row in choices.list_rows(WHOLE)]
    assert "twice as many epochs" not in [row.label for row in choices.list_rows(SMALL)]


def test_seeds_are_asked_for_or_usual_and_measurements_are_there_once() -> None:
    main = read_experiments()["main"]
    assert sorted({job.seed for job in main.list_jobs(WHOLE)}) == [0, 1, 2]
    asked = main.list_jobs(Scope(seeds=(7,)))
    assert [(job.method, job.seed) for job in asked if not job.preset] == [("rules", 0)] * 2
    assert {job.seed for job in asked if job.preset} == {7}


def test_experiments_are_found_by_name() -> None:
    assert [each.name for each in find_experiments("domain-sampling")] == ["domain_sampling"]
    assert find_experiments("all") == EXPERIMENTS
    with pytest.raises(ConfigError, match=r"'slection'.*'selection'"):
        find_experiments("slection")
