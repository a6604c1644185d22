"""The tutorial is executed as written: a model and a loss from outside the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import itransf

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
FILES = {match[1]: text for _, text in BLOCKS if (match := re.match(r"# (\w+\.py)\n", text))}
SOURCE = str(Path(itransf.__file__).parents[1])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the tutorial."""
    folder = tmp_path_factory.mktemp("outside")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def call(place: Path, *arguments: str, paths: tuple[Path, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, paths), str(place), SOURCE])}
    return subprocess.run(
        [sys.executable, *arguments], cwd=place, env=environment, capture_output=True, text=True, check=False
    )


def test_a_model_takes_fewer_than_forty_lines() -> None:
    assert len(FILES["mymodels.py"].strip().splitlines()) < 40


def test_the_commands_work_and_a_run_is_not_trusted_by_itself(place: Path) -> None:
    commands = [line.split()[1:] for kind, text in BLOCKS if not kind for line in text.strip().splitlines()]
    assert len(commands) == 4
    for command in commands:
        result = call(place, "-m", "itransf", *command)
        assert result.returncode == 0, (command, result.stderr)
    refused = call(place, "-m", "itransf", "evaluate", "runs/rotate")
    assert refused.returncode != 0
    assert "--plugin mymodels:RotatE" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_python_works(place: Path) -> None:
    (script,) = (text for kind, text in BLOCKS if kind == "python" and not text.startswith("#"))
    result = call(place, "-c", script)
    assert result.returncode == 0, result.stderr
    assert "rotate" in result.stdout.lower()


def test_an_installed_package_adds_names(place: Path, tmp_path: Path) -> None:
    (text,) = (text for kind, text in BLOCKS if kind == "toml")
    groups = tomllib.loads(text)["project"]["entry-points"]
    info = tmp_path / "site" / "mymodels-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mymodels\nVersion: 1.2\n", encoding="utf-8")
    lines = [f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in names.items()) for group, names in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    quick = ["--set", "training.epochs=1", "--set", "loss.candidates=32"]
    train = ["-m", "itransf", "train", "world", "--set", "model.name=rotate", *quick, "--out", str(tmp_path / "run")]
    assert call(place, *train, paths=(info.parent,)).returncode == 0
    assert call(place, "-m", "itransf", "evaluate", str(tmp_path / "run"), paths=(info.parent,)).returncode == 0
    assert '"mymodels 1.2 (mymodels:RotatE)"' in (tmp_path / "run" / "run.json").read_text(encoding="utf-8")
    missing = call(place, "-m", "itransf", "evaluate", str(tmp_path / "run"))
    assert missing.returncode != 0
    assert "'rotate'" in missing.stderr
    assert "install" in missing.stderr
