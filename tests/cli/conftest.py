"""A small graph in files, a run trained on it, and a way to call the command line."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import itransf
from itransf.cli import main
from itransf.registry import TRUSTED

COUNTRIES = {
    "France": ("Paris", "Lyon", "Lille"),
    "Spain": ("Madrid", "Sevilla", "Bilbao"),
    "Italy": ("Roma", "Milano", "Torino"),
    "Poland": ("Warszawa", "Gdynia", "Lublin"),
}
TRAIN = [
    *((city, "city_in", country) for country, cities in COUNTRIES.items() for city in cities),
    *((cities[0], "capital_of", country) for country, cities in COUNTRIES.items()),
    *((country, "P36", cities[0]) for country, cities in list(COUNTRIES.items())[:3]),
    *((cities[i], "near", cities[1 - i]) for cities in COUNTRIES.values() for i in (0, 1)),
]
VALID = [("Lyon", "near", "Lille")]
TEST = [("Poland", "P36", "Warszawa"), ("Lille", "near", "Lyon")]

QUICK = (
    *("--set", "model.name=itransf"),
    *("--set", "training.epochs=2"),
    *("--set", "training.batch_size=8"),
    *("--set", "training.optimizer=sgd"),
    *("--set", "loss.name=hinge"),
    *("--set", "negatives.per_triple=1"),
    *("--set", "warm_start.epochs=0"),
    *("--set", "validation.every=1"),
    *("--set", "model.dim=6"),
)
CONCEPTS = ("--set", "model.concepts=4", "--set", "model.support_size=2", "--set", "assignment.every=0")


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


def call(*arguments: object) -> Outcome:
    """Run `itransf` with these arguments, in this process."""
    out, err, trusted = io.StringIO(), io.StringIO(), set(TRUSTED)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
    finally:  # what one command trusts, another process would not
        TRUSTED.clear()
        TRUSTED.update(trusted)
    code = stop.value.code
    assert isinstance(code, int)
    return Outcome(code, out.getvalue(), err.getvalue())


def write_triples(path: Path, triples: list[tuple[str, str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(triple) + "\n" for triple in triples), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of triples, with labels beside it."""
    folder = tmp_path_factory.mktemp("data") / "places"
    for name, triples in {"train": TRAIN, "valid": VALID, "test": TEST}.items():
        write_triples(folder / f"{name}.tsv", triples)
    (folder.parent / "labels.tsv").write_text("P36\thas capital\nRoma\tRome\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """Return a run of ITransF, and what training it printed."""
    folder = tmp_path_factory.mktemp("runs") / "places"
    labels = ("--labels", data.parent / "labels.tsv")
    done = call("train", data, "--out", folder, *labels, *QUICK, *CONCEPTS, "--device", "cpu")
    assert done.code == 0, done.err
    return folder, done


@pytest.fixture(scope="session")
def run(trained: tuple[Path, Outcome]) -> Path:
    """Return the folder of a trained ITransF."""
    return trained[0]


@pytest.fixture(scope="session")
def opened(run: Path) -> Any:
    """Return the same run, opened."""
    return itransf.open(run, device="cpu")


@pytest.fixture(scope="session")
def transe_run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a trained TransE, which has no concepts."""
    folder = tmp_path_factory.mktemp("runs") / "transe"
    done = call("train", data, "--out", folder, *QUICK, "--set", "model.name=transe", "--quiet")
    assert done.code == 0, done.err
    return folder
