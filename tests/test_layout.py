from __future__ import annotations

import re
from pathlib import Path

import pytest

import itransf
from contracts.cases import REFERENCES
from itransf.config import build_config
from itransf.errors import ConfigError
from itransf.models import MODELS
from itransf.presets import list_presets, read_preset

SOURCE = Path(itransf.__file__).parent


def test_no_file_is_named_after_nothing() -> None:
    names = {path.stem.strip("_") for path in SOURCE.rglob("*") if "__pycache__" not in path.parts}
    assert len(names) > 40
    for word in ("utils", "util", "helpers", "helper", "common", "misc"):
        assert word not in names


def test_the_package_imports_nothing_from_beside_it() -> None:
    for path in SOURCE.rglob("*.py"):
        found = re.findall(
            r"^\s*(?:from|import) (reproduction|benchmarks|scripts)\b", path.read_text("utf-8"), re.MULTILINE
        )
        assert not found, path


def test_every_model_has_its_file_its_reference_and_its_formula() -> None:
    for name, model in MODELS.items():
        assert (SOURCE / "models" / f"{name}.py").is_file(), name
        assert name in REFERENCES, name
        assert re.search(r"\(.+, (19|20)\d\d", model.__doc__ or ""), name  # the paper, after the formula
        assert model.__name__.lower() == name


def test_presets_are_named_after_data_and_model() -> None:
    for name in list_presets():
        dataset, _, row = name.partition("/")
        assert dataset
        assert any(row.startswith(model) for model in MODELS), name


def test_every_preset_builds_the_model_it_is_named_after() -> None:
    for name in list_presets():
        config = build_config([read_preset(name)])
        assert name.partition("/")[2].startswith(config.name), name


def test_an_unknown_preset_is_answered_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="no preset 'nothing/here'"):
        read_preset("nothing/here")


def test_public_names_can_be_listed_and_others_are_refused() -> None:
    assert {"load", "train", "open", "Graph", "MODELS", "ITransFError", "errors", "interpret"} <= set(dir(itransf))
    assert itransf.MODELS is MODELS
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        itransf.nonsense  # noqa: B018
