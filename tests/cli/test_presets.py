from __future__ import annotations

import json
import tomllib

import itransf
from cli.conftest import call
from itransf.cli.presets import find_title
from itransf.presets import read_preset


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
