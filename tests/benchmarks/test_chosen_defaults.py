"""The defaults for small graphs are what the stored search chose."""

from __future__ import annotations

import json

import pytest
from benchmarks.records import RESULTS

import itransf
from itransf.run import resolve_config

RECORDS = ("tuning-world-confirmed", "tuning-world-mixed-confirmed")  # of all models; of ITransF as concepts start now
CHOSEN = {
    model: chosen
    for name in RECORDS
    for model, chosen in json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["chosen"].items()
}


@pytest.mark.parametrize("model", sorted(CHOSEN))
def test_world_gets_what_was_chosen(model: str) -> None:
    config = resolve_config(itransf.load("world"), settings=[f"model.name={model}"], device="cpu").to_dict()
    for key, value in CHOSEN[model]["settings"].items():
        section, name = key.split(".")
        assert config[section][name] == value, key
