from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import itransf
from cli.conftest import call
from golden.comparing import check_golden
from itransf.cli.runs import describe_run


def test_a_run_described() -> None:
    info = {
        "id": "00000000-0000-4000-8000-000000000000",
        "created": "2026-11-15T12:00:00+00:00",
        "version": "0.2.0",
        "parent": None,
        "data_hash": "0123456789abcdef" * 4,
        "seed": 0,
        "metrics": {"test": {"mrr": 0.6512, "hits@10": 0.814}},
        "model": "itransf",
        "graph": "world",
        "entities": 1542,
        "relations": 33,
        "triples": {"train": 8290, "valid": 1037, "test": 1037},
        "parameters": 109542,
        "epochs": 60,
        "seconds": 41.7,
        "warm_start_epochs": 0,
        "refit_epochs": 0,
        "update_epochs": 0,
        "lineage": [],
        "best": {"phase": "training", "epoch": 55, "mrr": 0.65432},
        "unfinished": None,
        "config": {"seed": 0, "model": {"name": "itransf", "dim": 64}, "training": {"decay": "none"}},
    }
    check_golden("info.txt", describe_run(info))


def test_a_run_without_validation_says_so() -> None:
    from itransf.cli.runs import describe_best

    assert "not validated" in describe_best(None)
    refitted = {"phase": "re-fit", "epoch": 2, "mrr": 0.5}
    assert describe_best(refitted) == "re-fit, epoch 2, validation mrr 0.5"


def test_info_of_a_run(run: Path, opened: Any) -> None:
    done = call("info", run)
    assert done.code == 0
    settings = done.out[done.out.index("seed") :]
    assert tomllib.loads(settings) == opened.config.to_dict()
    assert json.loads(call("info", run, "--json").out) == opened.info()


@pytest.mark.parametrize("command", ["info", "evaluate"])
def test_an_unfinished_run_is_marked(command: str, run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    assert "unfinished" not in call(command, copy).err
    itransf.storage.RunFolder(copy).commit(drop=["model.safetensors"])
    done = call(command, copy, "--json")
    assert done.code == 0
    epoch = itransf.open(copy).unfinished
    told = f"the checkpoint of epoch {epoch} of 2"
    assert f"Note: {copy} is unfinished" in done.err
    assert told in done.err
    if command == "info":
        assert json.loads(done.out)["unfinished"] == epoch
        assert told in call("info", copy).out


def test_tables_that_cannot_be_written_are_a_failure(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "q.csv").write_text("head,relation,tail\nItaly,P36,?\n")
    place = tmp_path / "file"
    for arguments in (
        ("export", run, "--out", place),
        ("concepts", run, "--plot", place / "map.svg"),
        ("predict", run, "--queries", tmp_path / "q.csv", "--out", place / "answers.csv"),
    ):
        done = call(*arguments)
        assert done.code == 1, arguments
        assert "cannot be written" in done.err


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_export_writes_tables(kind: str, run: Path, tmp_path: Path) -> None:
    done = call("export", run, "--out", tmp_path / "tables", "--format", kind)
    assert done.code == 0, done.err
    names = {"entities", "relations", "concepts", "attention"}
    assert {file.name for file in (tmp_path / "tables").iterdir()} == {f"{name}.{kind}" for name in names}
    again = ("export", run, "--out", tmp_path / "tables", "--format", kind, "--json")
    refused = call(*again)
    assert refused.code == 2
    assert "--overwrite" in refused.err
    listed = json.loads(call(*again, "--overwrite").out)
    assert set(listed["files"]) == {str(tmp_path / "tables" / f"{name}.{kind}") for name in names}
    assert all(path in done.out for path in listed["files"])


def test_export_needs_a_folder(run: Path) -> None:
    done = call("export", run)
    assert done.code == 2
    assert "--out" in done.err


def test_labels_can_be_given_to_a_finished_run(run: Path, opened: Any, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    first, second = opened.graph.entities.names[:2]
    labels = tmp_path / "labels.tsv"
    labels.write_text(f"{first}\tThe First\n", encoding="utf-8")
    assert call("info", copy, "--labels", labels).code == 0
    assert itransf.open(copy).graph.entities.label(0) == "The First"
    itransf.open(copy).label({second: "The Second"}, copy)
    kept = itransf.open(copy)
    assert [kept.graph.entities.label(number) for number in (0, 1)] == ["The First", "The Second"]
    assert kept.graph.entities.names == opened.graph.entities.names


def test_labels_of_something_else_change_nothing(run: Path, tmp_path: Path) -> None:
    before = (run / "vocabulary.json").read_bytes()
    labels = tmp_path / "labels.tsv"
    labels.write_text("nobody\tNobody\n", encoding="utf-8")
    done = call("info", run, "--labels", labels)
    assert done.code == 2
    assert "none of the 1 labels" in done.err
    assert (run / "vocabulary.json").read_bytes() == before


def test_runs_are_listed_best_first(
    run: Path, transe_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, folder in (("a", run), ("b/c", transe_run)):
        shutil.copytree(folder, tmp_path / name)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run.json").write_text('{"format": 1}')
    done = call("runs", ".", "--json")
    assert done.code == 0
    assert "itransf 0.1" in done.err
    listed = json.loads(done.out)
    assert sorted(entry["run"] for entry in listed) == ["a", "b/c"]
    values = [entry["metrics"]["valid"]["mrr"] for entry in listed]
    assert values == sorted(values, reverse=True)
    assert {entry["model"] for entry in listed} == {"itransf", "transe"}
    assert all(entry["metrics"]["test"]["mrr"] > 0 for entry in listed)
    shown = [line.split()[0] for line in call("runs", ".").out.splitlines()[2:]]
    assert shown == [entry["run"] for entry in listed]
    assert {entry["state"] for entry in listed} == {"finished"}
    itransf.storage.RunFolder(tmp_path / "a").commit(drop=["model.safetensors"])
    (tmp_path / "b" / "c" / "vocabulary.json").write_text("{}")
    states = {entry["run"]: entry["state"] for entry in json.loads(call("runs", ".", "--json").out)}
    assert states == {"a": "unfinished", "b/c": "damaged"}
    assert all(state in call("runs", ".").out for state in ("State", "unfinished", "damaged"))
    assert "no such folder" in call("runs", "none").err
    (tmp_path / "empty").mkdir()
    assert "no runs" in call("runs", "empty").out


def test_a_run_tells_its_parent(run: Path, opened: Any, tmp_path: Path) -> None:
    assert call("edit", run, "--prune", 3, "--epochs", 1, "--out", tmp_path / "new").code == 0
    info = json.loads(call("info", tmp_path / "new", "--json").out)
    assert info["parent"] == opened.record.id
    assert opened.record.id in call("info", tmp_path / "new").out


def test_a_file_edited_by_hand_is_refused_until_it_is_sealed(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    config = copy / "config.toml"
    assert call("seal", copy, "--check").code == 0
    config.write_text(config.read_text().replace("patience = ", "patience = 1"))
    for command in (("info", copy), ("seal", copy, "--check")):
        done = call(*command)
        assert done.code == 1
        assert "config.toml: " in done.err
        assert f"itransf seal {copy}" in done.err
    assert "config.toml" in call("seal", copy).out
    assert json.loads(call("seal", copy, "--json").out) == {"changed": []}
    assert call("info", copy).code == 0
    config.write_text("model = 3")
    done = call("seal", copy)
    assert done.code == 1
    assert "model" in done.err
    assert call("info", copy).code == 1
    assert call("seal", tmp_path / "none").code == 2
    assert not (tmp_path / "none").exists()
