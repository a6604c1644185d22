from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import call
from golden.comparing import check_golden
from itransf.cli.info import describe_run


def test_a_run_described() -> None:
    info = {
        "model": "itransf",
        "graph": "world",
        "entities": 1542,
        "relations": 33,
        "facts": {"train": 8290, "valid": 1037, "test": 1037},
        "parameters": 109542,
        "epochs": 60,
        "seconds": 41.7,
        "best": {"epoch": 55, "mrr": 0.65432},
        "unfinished": None,
        "config": {"seed": 0, "model": {"name": "itransf", "dim": 64}, "training": {"decay": "none"}},
    }
    check_golden("info.txt", describe_run(info))


def test_a_run_without_validation_says_so() -> None:
    from itransf.cli.info import describe_best

    assert describe_best(None) == "the last epoch (nothing was validated)"


def test_info_of_a_run(run: Path, opened: Any) -> None:
    done = call("info", run)
    assert done.code == 0
    settings = done.out[done.out.index("seed") :]
    assert tomllib.loads(settings) == opened.config.to_dict()
    assert json.loads(call("info", run, "--json").out) == opened.info()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_export_writes_tables(kind: str, run: Path, tmp_path: Path) -> None:
    done = call("export", run, "--out", tmp_path / "tables", "--format", kind)
    assert done.code == 0, done.err
    names = {"entities", "relations", "concepts", "attention"}
    assert {file.name for file in (tmp_path / "tables").iterdir()} == {f"{name}.{kind}" for name in names}
    listed = json.loads(call("export", run, "--out", tmp_path / "tables", "--format", kind, "--json").out)
    assert set(listed["files"]) == {str(tmp_path / "tables" / f"{name}.{kind}") for name in names}
    assert all(path in done.out for path in listed["files"])


def test_export_needs_a_folder(run: Path) -> None:
    done = call("export", run)
    assert done.code == 2
    assert "--out" in done.err
