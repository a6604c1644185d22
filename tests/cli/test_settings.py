from __future__ import annotations

import json
import runpy
import tomllib
from pathlib import Path

import pytest

import itransf
from cli.conftest import call
from itransf.cli.models import find_title
from itransf.config import assignments_layer, build_config
from itransf.presets import read_preset
from itransf.run.settings import flatten

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


@pytest.mark.parametrize("model", ["itransf", "icomplex"])
def test_every_setting_is_listed_with_its_default_and_a_meaning(model: str) -> None:
    listed = json.loads(call("settings", "--model", model, "--json").out)
    config = build_config([assignments_layer([f"model.name={model}"])])
    assert {setting["key"]: setting["default"] for setting in listed} == flatten(config.to_dict())
    assert all(setting["description"].endswith(".") and setting["values"] for setting in listed)


def test_a_part_of_a_key_finds_some() -> None:
    done = call("settings", "training.we")
    assert done.out.startswith("training.weight_averaging = 0.0 ")
    assert "epochs =" not in done.out
    assert call("settings", "Training.WE").out == done.out


def test_an_unknown_key_is_misuse() -> None:
    done = call("settings", "training.epoch_count")
    assert done.code == 2
    assert "'training.epoch_count'" in done.err
    assert "Did you mean 'training.epochs'" in done.err


def test_the_page_of_settings_is_current() -> None:
    script = runpy.run_path(str(PAGE.parents[1] / "scripts" / "write_settings.py"))
    assert script["write_page"]() == PAGE.read_text(encoding="utf-8"), "run python scripts/write_settings.py"


def test_models_are_those_there_are() -> None:
    (name, *_) = [entry for entry in json.loads(call("settings", "--json").out) if entry["key"] == "model.name"]
    assert name["values"].split(" | ") == list(itransf.models.MODELS)


def test_presets_are_listed() -> None:
    done = call("presets")
    assert all(name in done.out for name in itransf.list_presets())
    assert json.loads(call("presets", "--json").out) == itransf.list_presets()


def test_a_preset_is_printed_as_it_is_written() -> None:
    name = "wn18/itransf"
    assert tomllib.loads(call("presets", name).out) == read_preset(name).content
    assert json.loads(call("presets", name, "--json").out) == read_preset(name).content


def test_an_unknown_preset_is_misuse() -> None:
    done = call("presets", "wn18/transf")
    assert done.code == 2
    assert "Did you mean" in done.err


def test_a_title_is_the_first_remark() -> None:
    assert find_title("# What it is.\n# More.\n[model]") == "What it is."
    assert find_title("[model]\n# later") == ""
