from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.conftest import call

QUICK = [
    word
    for setting in ("training.epochs=2", "model.dim=4", "validation.every=1", "regularizer.weight=0.0")
    for word in ("--set", setting)
]


def test_one_table_of_all_models_and_its_files(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    done = call("compare", data, "--models", "transe, distmult", *QUICK)
    assert done.code == 0, done.err
    heads, _, *rows = done.out.splitlines()
    assert heads.split() == ["Model", "MRR", "MR", "Hits@1", "Hits@10", "Valid", "Parameters", "Seconds", "Uses"]
    assert sorted(row.split()[0] for row in rows[:2]) == ["distmult", "transe"]
    assert "Filtered ranks on test" in rows[2]
    assert "Model: distmult" in done.err
    folder = tmp_path / "runs" / "places-comparison"
    files = {"comparison.json", "comparison.md", "comparison.png", "transe", "distmult"}
    assert {path.name for path in folder.iterdir()} == files

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    again = call("compare", data, "--models", "transe,distmult", *QUICK, "--rules", "--json", "--quiet")
    assert again.code == 0, again.err
    content = json.loads(again.out)
    assert {row["name"] for row in content["rows"]} >= {"transe", "transe with rules", "rules alone"}
    assert content["folder"] == str(Path("runs", "places-comparison"))
    assert "pip install '.[plots]'" in again.err


def test_a_model_that_fails_is_named_and_all_that_fail_are_a_failure(data: Path, tmp_path: Path) -> None:
    options = ("--out", tmp_path / "new", *QUICK, "--set", "model.p_norm=1", "--quiet")
    some = call("compare", data, "--models", "distmult,transe", *options)
    assert (some.code, "distmult failed: " in some.err) == (0, True)
    none = call("compare", data, "--models", "distmult", *options)
    assert (none.code, none.out) == (1, "")


def test_misuse_is_named(data: Path, tmp_path: Path) -> None:
    done = call("compare", data, "--models", "transe,distmolt", "--out", tmp_path / "new")
    assert (done.code, "Did you mean 'distmult'" in done.err) == (2, True)
    assert call("compare", data).code == 2
    assert call("compare", data, "--models", "transe", "--seeds", 0).code == 2


def test_an_interrupted_comparison_says_how_to_continue(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("itransf.run.comparison.train", interrupt)
    done = call("compare", data, "--models", "transe", "--out", tmp_path / "new")
    assert done.code == 130
    assert f"itransf compare {data} --models transe" in done.err
