"""The tutorial is executed as written: a model and a loss from outside the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from fresh import Done, Interpreters

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
FILES = {match[1]: text for _, text in BLOCKS if (match := re.match(r"# (\w+\.py)\n", text))}
QUICK = (
    *("training.epochs=1", "training.batch_size=1000", "model.dim=4", "validation.every=0", "warm_start.epochs=0"),
    *("loss.candidates=4", "negatives.per_triple=1"),
)
OPTIONS = [word for setting in QUICK for word in ("--set", setting)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the tutorial."""
    folder = tmp_path_factory.mktemp("outside")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_model_takes_fewer_than_forty_lines() -> None:
    assert len(FILES["mymodels.py"].strip().splitlines()) < 40


def test_the_commands_work_and_a_run_is_not_trusted_by_itself(place: Path, interpreters: Interpreters) -> None:
    commands = [line.split()[1:] for kind, text in BLOCKS if not kind for line in text.strip().splitlines()]
    assert len(commands) == 4
    for command in commands:
        quick = OPTIONS if "train" in command else []
        program = f"import sys; del sys.path[0]; from itransf.cli import main; sys.exit(main({[*command, *quick]}))"
        done = interpreters.call("-c", program, folder=place)  # as the command itransf, whose path lacks this folder
        assert done.code == 0, (command, done.err)
    refused = interpreters.call("-m", "itransf", "evaluate", "runs/simple", folder=place)
    assert refused.code != 0
    assert "--plugin mymodels:SimplE" in refused.err
    assert "Traceback" not in refused.err


def test_the_python_works(place: Path, interpreters: Interpreters) -> None:
    (script,) = (text for kind, text in BLOCKS if kind == "python" and not text.startswith("#"))
    assert script.count('"loss.candidates=64"]') == 1
    quick = script.replace('"loss.candidates=64"]', f'"loss.candidates=64", *{QUICK}]')
    done = interpreters.call("-c", quick, folder=place)
    assert done.code == 0, done.err
    assert "simple" in done.out.lower()


def test_an_installed_package_adds_names(place: Path, tmp_path: Path, interpreters: Interpreters) -> None:
    (text,) = (text for kind, text in BLOCKS if kind == "toml")
    groups = tomllib.loads(text)["project"]["entry-points"]
    info = tmp_path / "site" / "mymodels-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mymodels\nVersion: 1.2\n", encoding="utf-8")
    lines = [f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in names.items()) for group, names in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")

    def call(*words: str, installed: bool = True) -> Done:
        return interpreters.call("-m", "itransf", *words, folder=place, paths=(info.parent,) if installed else ())

    run = tmp_path / "run"
    assert call("train", "world", "--set", "model.name=simple", *OPTIONS, "--out", str(run)).code == 0
    assert call("evaluate", str(run)).code == 0
    assert '"mymodels 1.2 (mymodels:SimplE)"' in (run / "run.json").read_text(encoding="utf-8")
    missing = call("evaluate", str(run), installed=False)
    assert missing.code != 0
    assert "'simple'" in missing.err
    assert "install" in missing.err
