from __future__ import annotations

import json
from pathlib import Path

from scripts.convert_results import convert, main

OLD = {
    "model": {"name": "itransf", "norm": 1, "entities": "unit", "n3": 0.003, "concept_start": "identity"},
    "training": {"epochs": 5, "decay": "linear", "average": 0.9},
    "loss": {"kind": "adversarial", "temperature": 1.0},
    "negatives": {"per_fact": 8, "corrupt": "uniform", "avoid_known": True},
    "assignment": {"first": "random", "facts": 300, "sides": "together"},
    "warm_start": {"model": "transe", "batch_size": 0, "negatives": "same"},
    "seed": 3,
}
NEW = {
    "model": {"name": "itransf", "p_norm": 1, "entity_constraint": "unit", "concept_init": "identity"},
    "regularizer": {"name": "n3", "weight": 0.003},
    "training": {"epochs": 5, "lr_decay": "linear", "weight_averaging": 0.9},
    "loss": {"name": "self_adversarial", "adversarial_temperature": 1.0},
    "negatives": {"per_triple": 8, "sampler": "uniform", "filtered": True},
    "assignment": {"init": "random", "triples": 300},
    "warm_start": {"sampler": "same"},
    "seed": 3,
}
RELATION = "/food/food/nutrients./food/nutrition_fact/nutrient"
JOB = {"dataset": "wn18", "preset": "wn18/itransf", "seed": 0, "method": "validate", "options": [], "quick": False}


def test_settings_have_their_present_names() -> None:
    assert convert(OLD) == NEW
    assert convert(NEW) == NEW


def test_names_of_relations_and_other_keys_are_kept() -> None:
    old = {RELATION: RELATION, "train_facts": 3, "note": "validation facts", "norm": 1, "relations": [RELATION]}
    new = {RELATION: RELATION, "train_triples": 3, "note": "validation triples", "norm": 1, "relations": [RELATION]}
    assert convert(old) == new
    assert convert({"dirty": None}) == {"dirty": "unknown"}
    assert convert({"dirty": False}) == {"dirty": False}


def test_files_are_renamed_and_converted_once(tmp_path: Path) -> None:
    job = {**JOB, "settings": ["negatives.per_fact=16", "warm_start.batch_size=0"]}
    command = "itransf train wn18 --set negatives.per_fact=16 --set warm_start.batch_size=0 --seed 0"
    record = {"key": "old", "row_key": "old", "job": job, "command": command, "config": OLD, "seed": 0}
    (tmp_path / "old.json").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "interpretation-named-facts.json").write_text(json.dumps({"facts": 3}), encoding="utf-8")
    assert main(tmp_path) == 0
    name = "wn18-itransf-validate+negatives.per_triple=16-seed0"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["interpretation-named-triples.json", f"{name}.json"]
    text = (tmp_path / f"{name}.json").read_text(encoding="utf-8")
    found = json.loads(text)
    assert (found["key"], found["config"]) == (name, NEW)
    assert found["command"] == "itransf train wn18 --set negatives.per_triple=16 --seed 0"
    assert main(tmp_path) == 0
    assert (tmp_path / f"{name}.json").read_text(encoding="utf-8") == text


def test_settings_that_no_longer_exist_are_reported(tmp_path: Path, capsys: object) -> None:
    gone = {**OLD, "warm_start": {"model": "stranse"}}
    (tmp_path / "one.json").write_text(json.dumps({"settings": gone}), encoding="utf-8")
    assert main(tmp_path) == 1
