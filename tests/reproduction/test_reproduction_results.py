from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from reproduction.experiments import Row
from reproduction.results import Results

from itransf.errors import DataError

JOB = Row("", "wn18/itransf").make_job()
Make = Callable[..., dict[str, Any]]
Store = Callable[..., None]


def store_changed(results: Results, make: Make, change: Any) -> None:
    record = make(JOB)
    change(record["config"])
    results.store(JOB, record)


def test_what_is_stored_is_found_by_whoever_reads_the_folder(results: Results, store: Store) -> None:
    assert results.find(JOB) is None
    store(JOB, mr=205.0)
    for reader in (results, Results(results.folder)):
        found = reader.find(JOB)
        assert found is not None
        assert found["metrics"]["mr"] == 205.0
        assert found["job"]["preset"] == "wn18/itransf"
    assert [path.name for path in results.folder.iterdir()] == ["wn18-itransf-seed0.json"]


def test_a_file_has_a_line_for_each_part(results: Results, store: Store) -> None:
    store(JOB)
    lines = (results.folder / f"{JOB.key}.json").read_text(encoding="utf-8").splitlines()
    record = json.loads("\n".join(lines))
    assert len(lines) == len(record) + 2
    assert lines[1] == '"key": "wn18-itransf-seed0",'
    assert record["relations"]["columns"][:2] == ["relation", "train_triples"]


def test_tables_are_lists_of_objects_for_whoever_reads_them(results: Results, store: Store) -> None:
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    store(JOB, rows=rows, mixed=[{"a": 1}, {"b": 2}], empty=[], plain=[1, 2])
    for reader in (results, Results(results.folder)):
        found = reader.find(JOB)
        assert found is not None
        assert [found[key] for key in ("rows", "mixed", "empty", "plain")] == [rows, [{"a": 1}, {"b": 2}], [], [1, 2]]


def test_seeds_are_found_in_order(results: Results, store: Store) -> None:
    for seed in (10, 2):
        store(replace(JOB, seed=seed))
    store(replace(JOB, settings=("model.concepts=18",)))
    store(Row("", dataset="wn18", method="rules").make_job())
    assert [record["seed"] for record in results.find_seeds(JOB)] == [2, 10]


def test_what_was_made_with_other_settings_is_as_good_as_missing(results: Results, make: Make) -> None:
    store_changed(results, make, lambda config: config["training"].update(epochs=7))
    assert results.find(JOB) is None
    assert results.find_seeds(JOB) == []
    (key, found), *others = results.list_outdated()
    assert (key, others) == ("wn18-itransf-seed0", [])
    assert len(found) == 1
    assert found[0].startswith("training.epochs: 7 then, ")


@pytest.mark.parametrize(
    "change",
    [
        lambda config: config["checkpoint"].update(minutes=99.0),
        lambda config: config["loss"].pop("adversarial_temperature"),  # came later, and the preset leaves it as it was
        lambda config: config["loss"].update(gone_since="once"),
    ],
    ids=["harmless", "new setting", "setting that is gone"],
)
def test_what_does_not_change_the_training_does_not_matter(results: Results, make: Make, change: Any) -> None:
    store_changed(results, make, change)
    assert results.find(JOB) is not None
    assert list(results.list_outdated()) == []


def test_a_new_setting_that_the_preset_changes_does_matter(results: Results, make: Make) -> None:
    store_changed(results, make, lambda config: config["loss"].pop("margin"))  # the preset's is not the default
    assert results.find(JOB) is None


def test_a_result_whose_preset_is_gone_is_outdated_not_an_error(results: Results, store: Store) -> None:
    store(JOB)
    path = results.folder / f"{JOB.key}.json"
    path.write_text(path.read_text(encoding="utf-8").replace("wn18/itransf", "wn18/forgotten"), encoding="utf-8")
    ((_, found),) = Results(results.folder).list_outdated()
    assert "wn18/forgotten" in found[0]


@pytest.mark.parametrize(("text", "message"), [("{", r"broken\.json.*read"), ("{}", r"broken\.json.*'key'")])
def test_other_files_are_refused(results: Results, text: str, message: str) -> None:
    results.folder.mkdir()
    (results.folder / "broken.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        results.find(JOB)
