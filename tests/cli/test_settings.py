from __future__ import annotations

import json
from pathlib import Path

import itransf
from cli.conftest import call
from itransf.config import assignments_layer, build_config
from itransf.run.settings import flatten

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_every_setting_is_listed_with_its_default_and_a_meaning() -> None:
    listed = json.loads(call("settings", "--json").out)
    config = build_config([assignments_layer(["model.name=itransf"])])
    assert {setting["key"]: setting["default"] for setting in listed} == flatten(config.to_dict())
    assert all(setting["meaning"].endswith(".") and setting["values"] for setting in listed)


def test_a_part_of_a_key_finds_some() -> None:
    done = call("settings", "training.we")
    assert done.out.startswith("training.weight_averaging = 0.0  a number\n    Over which share of the epochs")
    assert "epochs =" not in done.out
    assert call("settings", "Training.WE").out == done.out


def test_what_no_key_has_is_misuse() -> None:
    done = call("settings", "training.epoch_count")
    assert done.code == 2
    assert "no setting has 'training.epoch_count' in its key. Did you mean 'training.epochs'" in done.err


def test_the_page_is_what_the_command_prints() -> None:
    assert call("settings", "--markdown").out == PAGE.read_text(encoding="utf-8")


def test_a_page_is_no_json() -> None:
    done = call("settings", "--markdown", "--json")
    assert done.code == 2
    assert "do not go together" in done.err


def test_models_are_those_there_are() -> None:
    (name, *_) = [entry for entry in json.loads(call("settings", "--json").out) if entry["key"] == "model.name"]
    assert name["values"].split(" | ") == list(itransf.models.MODELS)
