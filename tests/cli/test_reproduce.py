from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import itransf
from cli.conftest import Outcome, call
from itransf.cli.reproduce import parse_seeds
from itransf.errors import ConfigError

TINY = (
    *("--set", "training.epochs=1"),
    *("--set", "training.batch_size=2000"),
    *("--set", "model.dim=4"),
    *("--set", "validation.every=0"),
    *("--set", "warm_start.epochs=0"),
)


def reproduce(folder: Path, *arguments: object) -> Outcome:
    places = ("--results", folder / "results", "--runs", folder / "runs", "--device", "cpu")
    return call("reproduce", *arguments, "--quick", *places)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp("reproduction")
    return folder, reproduce(folder, "main", "--seeds", "0", *TINY)


def test_the_main_table_quickly(done: tuple[Path, Outcome]) -> None:
    folder, outcome = done
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("Main results (Table 2)\n")
    for row in ("TransE", "TransR", "STransE", "ITransF", "ITransF, domain sampling", "One-hop rule list"):
        assert len(re.findall(rf"^{row} +[\d–]", outcome.out, re.MULTILINE)) == 2, row
    assert "not measured yet" not in outcome.out
    assert "[14/14] quick-planted-fb15k-itransf-domain" in outcome.err
    assert len(list((folder / "results").glob("*.json"))) == 14


def test_what_is_stored_is_not_trained_again(done: tuple[Path, Outcome], monkeypatch: pytest.MonkeyPatch) -> None:
    folder, outcome = done

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("everything is stored")

    monkeypatch.setattr("itransf.experiments.reproduction.workshop.train", refuse)
    again = reproduce(folder, "main", "--seeds", "0", *TINY)
    assert (again.out, again.err) == (outcome.out, "")
    shown = json.loads(reproduce(folder, "main", "--render-only", "--json", *TINY).out)
    assert [table["title"] for table in shown[0]["tables"]] == ["world", "planted"]


def test_only_what_there_is(tmp_path: Path) -> None:
    outcome = reproduce(tmp_path, "datasets", "--only", "wordl")
    assert outcome.code == 2
    assert "--only 'wordl': nothing has that in its name. There are: " in outcome.err
    assert "quick-world-describe" in outcome.err


def test_only_some_of_it(tmp_path: Path) -> None:
    outcome = reproduce(tmp_path, "main", "--only", "world-describe", "--seeds", "0")
    assert outcome.code == 0, outcome.err
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["quick-world-describe.json"]
    assert "not measured yet" in outcome.out


def test_figures_are_drawn_or_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    outcome = reproduce(tmp_path, "frequencies")
    assert f"Figure: {tmp_path}/runs/figures/frequencies.png" in outcome.out
    assert (tmp_path / "runs" / "figures" / "frequencies.png").is_file()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    outcome = reproduce(tmp_path, "frequencies")
    assert (outcome.code, "pip install 'itransf[plots]'" in outcome.out) == (0, True)


def test_the_page_is_written(done: tuple[Path, Outcome], tmp_path: Path) -> None:
    page = tmp_path / "docs" / "page.md"
    outcome = call("reproduce", "render", "--results", done[0] / "results", "--out", page)
    assert (outcome.code, outcome.err) == (0, f"wrote {page}\n")
    assert page.read_text(encoding="utf-8").startswith("# Reproduction")


def test_words_are_printed_without_marks_of_the_page(done: tuple[Path, Outcome]) -> None:
    assert "*" not in done[1].out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mian",), "Did you mean 'main'?"),
        (("main", "--seeds", "a"), "--seeds 'a' are not whole numbers"),
        (("main", "--set", "training.epoch=1"), "there is no setting 'training.epoch'"),
    ],
)
def test_misuse(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    outcome = reproduce(tmp_path, *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_stopping_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(itransf.experiments.reproduction, "reproduce", stop)
    outcome = reproduce(tmp_path, "main")
    assert outcome.code == 130
    assert "the same command goes on" in outcome.err


def test_help_names_every_stage() -> None:
    words = call("reproduce", "--help").out.replace(",", " ").replace(";", " ").split()
    stages = [stage.name for stage in itransf.experiments.reproduction.list_stages("all")]
    assert {*stages, "all", "render"} <= set(words)


def test_seeds_are_numbers() -> None:
    assert parse_seeds(None) == ()
    assert parse_seeds("0, 3,7") == (0, 3, 7)
    for text in ("-1", "", ","):
        with pytest.raises(ConfigError, match="are not whole numbers"):
            parse_seeds(text)
