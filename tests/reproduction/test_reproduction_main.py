from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import reproduction.__main__ as command

from itransf.errors import ConfigError

if TYPE_CHECKING:
    from conftest import GraphMaker

TINY = (
    *("--set", "training.epochs=1"),
    *("--set", "model.dim=4"),
    *("--set", "validation.every=0"),
    *("--set", "warm_start.epochs=0"),
)


def call(folder: Path, *words: str) -> int:
    places = ("--results", str(folder / "results"), "--runs", str(folder / "runs"), "--device", "cpu")
    return command.main([*words, "--quick", *places])


def test_a_table_is_trained_once_and_shown_again(
    tmp_path: Path, random_graph: GraphMaker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproduction.methods.load_once", lambda dataset: random_graph())
    assert call(tmp_path, "main", "--seeds", "0", *TINY) == 0
    shown = capsys.readouterr()
    assert shown.out.count("| ITransF, domain sampling | – |") == 2
    assert "[12/12] quick-planted-fb15k-itransf-domain" in shown.err
    assert len(list((tmp_path / "results").glob("*.json"))) == 12

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("everything is stored")

    monkeypatch.setattr("reproduction.methods.train", refuse)
    assert call(tmp_path, "main", "--seeds", "0", *TINY) == 0
    assert capsys.readouterr() == (shown.out, "")
    assert call(tmp_path, "main", "--render-only", "--json", *TINY) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [table["title"] for table in found["tables"]] == ["WN18", "FB15k"]
    assert found["tables"][0]["rows"][0]["Seeds"] == "1"


def test_figures_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert call(tmp_path, "frequencies") == 0
    assert (tmp_path / "runs" / "figures" / "frequencies.png").is_file()
    assert "frequencies.png" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mian",), "main"),
        (("main", "--seeds", "a"), "--seeds 'a'"),
        (("main", "--set", "training.epoch=1"), "training.epoch"),
        (("datasets", "--only", "wordl"), "quick-world-describe"),
    ],
)
def test_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    assert call(tmp_path, *words) == 1
    assert message in capsys.readouterr().err


def test_only_some_of_it_and_stopping(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(tmp_path, "datasets", "--only", "world-describe") == 0
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["quick-world-describe.json"]

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_jobs", stop)
    assert call(tmp_path, "main") == 130
    assert "Stopped" in capsys.readouterr().err


def test_seeds_are_numbers() -> None:
    assert command.parse_seeds(None) == ()
    assert command.parse_seeds("0, 3,7") == (0, 3, 7)
    for text in ("-1", "", ","):
        with pytest.raises(ConfigError, match="--seeds"):
            command.parse_seeds(text)
