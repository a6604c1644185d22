from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.records import RESULTS
from benchmarks.tuning import CHOICES, choose, draw_trials, pick_best

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


def test_trials_are_different_draws_of_the_settings_a_model_has() -> None:
    found = draw_trials("itransf", 10, seed=0, only=["model.concepts=8,16", "model.concept_init=mixed"])
    assert len({json.dumps(one) for one in found}) == 10
    assert all(one[key] in CHOICES[key] for one in found for key in one)
    assert {one["model.concepts"] for one in found} == {8, 16}
    assert {one["model.concept_init"] for one in found} == {"mixed"}
    assert found == draw_trials("itransf", 10, seed=0, only=["model.concepts=8,16", "model.concept_init=mixed"])
    assert set(draw_trials("transe", 99, seed=0)[0]) == {"training.learning_rate", "regularizer.weight"}
    assert len(draw_trials("transe", 99, seed=0)) == 25
    with pytest.raises(SystemExit, match="--only"):
        draw_trials("transe", 1, seed=0, only=["model.dim=3"])


def test_the_best_trials_are_repeated_and_the_best_mean_is_chosen(tmp_path: Path) -> None:
    def trial(rate: float, mrr: float, rare: float = 0.0) -> dict[str, object]:
        settings = {"training.learning_rate": rate}
        return {"model": "transe", "settings": settings, "valid mrr": mrr, "valid rare hits@10": rare}

    failed = {"model": "transe", "settings": {"training.learning_rate": 9.0}, "error": "no memory"}
    path = tmp_path / "search.json"
    path.write_text(json.dumps({"trials": [trial(1.0, 0.5), trial(2.0, 0.4, 0.9), failed]}), encoding="utf-8")
    assert pick_best([path], "transe", 2) == [{"training.learning_rate": 2.0}, {"training.learning_rate": 1.0}]
    chosen = choose([trial(1.0, 0.5), trial(1.0, 0.7), trial(2.0, 0.65), failed])["transe"]
    assert chosen == {"settings": {"training.learning_rate": 2.0}, "mean": 0.65, "trials": 1}
