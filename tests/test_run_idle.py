"""Settings that have no effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from itransf.config import assignments_layer, build_config
from itransf.run import MODEL_CONFIGS, list_idle, read_given
from itransf.run.idle import RULES
from itransf.run.resuming import flatten


def note(*settings: str) -> list[str]:
    config = build_config([assignments_layer(settings)], MODEL_CONFIGS)
    return list_idle(config, read_given(None, settings))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            ("loss.name=cross_entropy", "negatives.per_triple=8"),
            "negatives.per_triple has no effect where loss.name is 'softmax'",
        ),
        (
            ("loss.name=cross_entropy", "negatives.domain=0.001"),
            "negatives.domain has no effect but on the choice of concepts where loss.name is 'softmax'",
        ),
        (("loss.adversarial_temperature=2.0",), "loss.temperature has no effect where loss.name is 'hinge'"),
        (("loss.name=self_adversarial", "loss.scale=2.0"), "loss.scale has no effect where loss.name is 'adversarial'"),
        (
            ("model.attention=dense", "assignment.every=3"),
            "assignment.every has no effect where model.attention is 'dense'",
        ),
        (("negatives.domain_stop=0.5",), "negatives.domain_stop has no effect where negatives.domain is 0.0"),
        (("model.l1_weight=0.1",), "model.l1_weight has no effect where model.attention is 'sparse'"),
        (
            ("warm_start.learning_rate=0.1", "warm_start.epochs=0"),
            "warm_start.learning_rate has no effect where warm_start.epochs is 0",
        ),
        (
            ("warm_start.batch_size=10", "warm_start.epochs=0"),
            "warm_start.batch_size has no effect where warm_start.epochs is 0",
        ),
    ],
)
def test_what_is_idle_is_told(settings: tuple[str, ...], told: str) -> None:
    assert note(*settings) == [told]


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("negatives.per_triple=8", "negatives.domain=0.001", "loss.margin=2.0"),
        ("loss.name=cross_entropy", "loss.scale=2.0", "training.epochs=3"),
        ("model.attention=l1", "model.l1_weight=0.1"),
        ("model.name=transe", "negatives.shared=true"),
        ("warm_start.learning_rate=0.1", "warm_start.epochs=5"),
    ],
)
def test_what_has_an_effect_is_not(settings: tuple[str, ...]) -> None:
    assert note(*settings) == []


def test_files_and_mappings_are_looked_at_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[loss]\nscale = 2.0\n", encoding="utf-8")
    config = build_config([], MODEL_CONFIGS)
    told = ["loss.scale has no effect where loss.name is 'hinge'"]
    assert list_idle(config, read_given(file, ["training.epochs=3", "loss.scale=1.0"])) == told
    assert list_idle(config, read_given({"loss": {"scale": 2.0}}, [])) == told


def test_every_rule_names_settings_that_there_are() -> None:
    known = set(flatten(build_config([], MODEL_CONFIGS).to_dict()))
    for rule in RULES:
        assert rule.setting in known
        for key in rule.idle:
            assert any(name.startswith(key) for name in known), key
