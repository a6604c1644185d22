from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import itransf
from itransf.errors import CheckpointError, ConfigError, WriteError
from itransf.run import Run
from itransf.storage import RunFolder


@pytest.fixture
def saved(random_graph: Callable, short: Callable, tmp_path: Path) -> Path:
    short(random_graph(), "itransf", out=tmp_path / "run")
    return tmp_path / "run"


def reopen(path: Path) -> Run:
    return itransf.open(path, device="cpu")


def test_names_stay_with_the_folder_through_saving_opening_and_copying(saved: Path, tmp_path: Path) -> None:
    assert not (saved / "concepts.json").exists()
    reopen(saved).name_concepts({3: " lies  in ", 0: "city"}, saved)
    run = reopen(saved)
    assert run.concept_names == {0: "city", 3: "lies in"}
    run.save(tmp_path / "again")
    shutil.copytree(saved, tmp_path / "copy")
    for folder in ("again", "copy"):
        assert reopen(tmp_path / folder).concept_names == {0: "city", 3: "lies in"}


def test_without_a_folder_names_are_kept_by_saving(saved: Path, tmp_path: Path) -> None:
    run = reopen(saved)
    run.name_concepts({1: "city"})
    assert reopen(saved).concept_names == {}
    run.save(tmp_path / "again")
    assert reopen(tmp_path / "again").concept_names == {1: "city"}


def test_an_empty_name_takes_one_back_and_the_last_takes_the_file(saved: Path) -> None:
    run = reopen(saved)
    run.name_concepts({1: "city", 2: "state"}, saved)
    run.name_concepts({1: ""}, saved)
    assert reopen(saved).concept_names == {2: "state"}
    run.name_concepts({2: " "}, saved)
    assert not (saved / "concepts.json").exists()


def test_training_that_goes_on_keeps_names(random_graph: Callable, short: Callable, tmp_path: Path) -> None:
    graph, out = random_graph(), tmp_path / "run"
    short(graph, "itransf", "checkpoint.epochs=1", out=out)
    reopen(out).name_concepts({1: "city"}, out)
    run = short(graph, "itransf", "checkpoint.epochs=1", "training.epochs=4", out=out, resume=True)
    assert run.concept_names == reopen(out).concept_names == {1: "city"}


def test_what_cannot_be_named_is_refused_and_nothing_is_written(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no concept 5"):
        reopen(saved).name_concepts({1: "city", 5: "x"}, saved)
    with pytest.raises(ConfigError, match="concept 1 cannot be called '17'"):
        reopen(saved).name_concepts({1: " 17 "}, saved)
    assert not (saved / "concepts.json").exists()
    with pytest.raises(CheckpointError, match="there is no such run"):
        reopen(saved).name_concepts({1: "city"}, tmp_path / "nowhere")


@pytest.mark.parametrize("content", ["{", "[]", '{"names": []}', '{"names": {"x": "y"}}', '{"names": {"1": 2}}'])
def test_a_damaged_file_is_named(content: str, saved: Path) -> None:
    (saved / "concepts.json").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"concepts\.json"):
        reopen(saved)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WriteError, match="cannot be written"):
        RunFolder(tmp_path / "file").write_concept_names({1: "city"})


def test_a_run_tells_cards_and_sharing(saved: Path) -> None:
    run = reopen(saved)
    run.name_concepts({1: "city"})
    assert run.cards([1])[0].name == "city"
    graph = run.sharing()
    assert [member.rare for member in graph.members] == [False, False, True]
