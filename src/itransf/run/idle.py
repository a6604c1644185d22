"""Settings that someone gave, and that other settings leave without effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from itransf.config import Config, Layer
from itransf.run.resuming import flatten


class Rule(NamedTuple):
    """Where a setting has one of some values, others are idle.

    Attributes:
        setting: The one that decides.
        values: Under which of its values.
        idle: What has no effect then; "assignment." is all that begins so.
        still: What they have an effect on nevertheless.
    """

    setting: str
    values: tuple[Any, ...]
    idle: tuple[str, ...]
    still: str = ""


RULES = (
    Rule(
        "loss.name",
        ("cross_entropy",),
        ("loss.margin", "loss.adversarial_temperature", "negatives.per_triple", "negatives.shared"),
    ),
    Rule("loss.name", ("cross_entropy",), ("negatives.sampler", "negatives.domain"), "but on the choice of concepts"),
    Rule("negatives.domain", (0.0,), ("negatives.domain_stop",)),
    Rule("loss.name", ("hinge",), ("loss.adversarial_temperature", "loss.scale", "loss.candidates")),
    Rule("loss.name", ("self_adversarial",), ("loss.scale", "loss.candidates")),
    Rule("model.attention", ("dense", "l1"), ("model.support_size", "assignment.")),
    Rule("model.attention", ("dense", "sparse"), ("model.l1_weight",)),
    Rule("model.attention", ("l1",), ("model.temperature",)),
    Rule("warm_start.epochs", (0,), ("warm_start.learning_rate", "warm_start.sampler")),
)


def list_idle(config: Config, given: Iterable[Layer]) -> list[str]:
    """Return a sentence for each of the settings given by these layers that has no effect in this config."""
    values, keys = flatten(config.to_dict()), {key: None for layer in given for key in flatten(layer.content)}
    notes = []
    for rule in RULES:
        value = values.get(rule.setting)
        if value in rule.values:
            where = f"where {rule.setting} is {value!r}"
            found = [key for key in keys if key != rule.setting and key.startswith(rule.idle)]
            notes += [" ".join(filter(None, (f"{key} has no effect", rule.still, where))) for key in found]
    return notes
