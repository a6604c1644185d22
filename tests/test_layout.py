from __future__ import annotations

import re
from pathlib import Path

import pytest

import itransf
from contracts.cases import REFERENCES
from itransf.models import MODELS

SOURCE, TESTS = Path(itransf.__file__).parent, Path(__file__).parent


def test_no_file_has_a_name_that_says_nothing() -> None:
    names = {path.stem.strip("_") for path in SOURCE.rglob("*") if "__pycache__" not in path.parts}
    assert len(names) > 40
    for word in ("utils", "util", "helpers", "helper", "common", "misc"):
        assert word not in names


def test_the_package_does_not_import_scripts_benchmarks_or_reproduction() -> None:
    for path in SOURCE.rglob("*.py"):
        found = re.findall(
            r"^\s*(?:from|import) (reproduction|benchmarks|scripts)\b", path.read_text("utf-8"), re.MULTILINE
        )
        assert not found, path


def test_every_folder_of_the_source_has_tests_of_its_own() -> None:
    folders = {path.parent.relative_to(SOURCE) for path in SOURCE.rglob("*.py")}
    assert len(folders) > 10
    for folder in folders:
        file = TESTS / folder.parent / f"test_{folder.name}.py"
        assert file.is_file() or any((TESTS / folder).glob("test_*.py")), folder


def test_every_model_has_its_file_its_reference_and_its_formula() -> None:
    for name, model in MODELS.items():
        assert (SOURCE / "models" / f"{name}.py").is_file(), name
        assert name in REFERENCES, name
        if model.paper is not None:
            assert re.search(r"\(.+, (19|20)\d\d", model.__doc__ or ""), name  # the paper, after the formula
        assert model.__name__.lower() == name


def test_public_names_can_be_listed_and_others_are_refused() -> None:
    assert {"load", "train", "open", "Graph", "MODELS", "ITransFError", "errors", "interpret"} <= set(dir(itransf))
    assert itransf.MODELS is MODELS
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        itransf.nonsense  # noqa: B018
