"""Settings: frozen dataclasses, filled from layers of TOML and `a.b=value` strings.

A later layer overrides an earlier one key by key. Unknown keys and values that do not fit are refused with the
name of the layer they came from.
"""

from __future__ import annotations

import math
import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from itransf.errors import ConfigError, did_you_mean

ABOVE_ZERO = {
    "training.batch_size",
    "training.block_size",
    "negatives.per_fact",
    "assignment.negatives",
    "model.dim",
}


@dataclass(frozen=True)
class NegativesConfig:
    """How true facts are corrupted.

    Attributes:
        per_fact: Corrupted copies of each fact in each epoch.
        corrupt: Which side is replaced: `uniform` (a coin) or `bernoulli` (by the relation's mapping, TransH).
        domain: The paper's lambda: a replacement comes from the relation's own domain with probability
            min(lambda |M_tail| |M_head| / |N_r|, 0.5). Zero switches domain sampling off.
        avoid_known: Draw again where the corrupted fact is a training fact; with the `softmax` loss, leave other
            training answers out.
        tries: How often, at most; what is still a training fact then is kept.
    """

    per_fact: int = 1
    corrupt: Literal["uniform", "bernoulli"] = "bernoulli"
    domain: float = 0.0
    avoid_known: bool = True
    tries: int = 5


@dataclass(frozen=True)
class LossConfig:
    """What is minimised, averaged over the facts of a batch.

    Attributes:
        kind: `hinge` (the paper's Eq. 2), `adversarial` (self-adversarial logistic loss over many negatives) or
            `softmax` (cross-entropy of the right entity among candidates that a whole batch shares).
        margin: The hinge's margin; the adversarial loss's fixed margin; unused by `softmax`.
        temperature: Of the weights on hard negatives (`adversarial`).
        scale: What scores are multiplied with inside the softmax (`softmax`).
        candidates: How many random entities, shared by a batch, the softmax runs over; zero takes all (`softmax`).
    """

    kind: Literal["hinge", "adversarial", "softmax"] = "hinge"
    margin: float = 1.0
    temperature: float = 1.0
    scale: float = 1.0
    candidates: int = 0


@dataclass(frozen=True)
class AssignmentConfig:
    """The block-iterative step that chooses each relation's concepts anew.

    Attributes:
        every: Epochs between two steps; zero never re-chooses.
        start: Epochs before the first step.
        stop: Share of all epochs after which supports stay as they are.
        sides: `together` (both sides from the same parameters, as the paper reads) or `in_turn` (the tail sees the
            head's new choice).
        accept: `always`, or `if_better`: only where the loss on the same facts and negatives does not rise.
        facts: The most facts per relation to judge by; zero takes all.
        negatives: Corrupted copies of each of them.
    """

    every: int = 5
    start: int = 5
    stop: float = 0.8
    sides: Literal["together", "in_turn"] = "together"
    accept: Literal["always", "if_better"] = "if_better"
    facts: int = 0
    negatives: int = 1


@dataclass(frozen=True)
class WarmStartConfig:
    """Where entity and relation vectors come from.

    Attributes:
        epochs: Epochs of TransE trained first, with the same loss and optimiser; zero starts at random.
        learning_rate: Of those epochs; zero takes the training's own.
        run: A finished run whose vectors are taken instead.
    """

    epochs: int = 0
    learning_rate: float = 0.0
    run: str = ""


@dataclass(frozen=True)
class TrainingConfig:
    """The optimisation.

    Attributes:
        epochs: Passes over the training facts.
        batch_size: Facts per update.
        block_size: How many facts of one relation stay together when facts are shuffled. One shuffles facts freely;
            more bring fewer relations into a batch, so that fewer matrices are composed and products are larger.
        optimizer: `sgd`, `adagrad` or `adam`; all update only the rows a batch touches.
        learning_rate: Of the batch-averaged loss: a fact moves its vectors by learning_rate / batch_size, so a
            larger batch with the same quotient is nearly the same recipe.
        decay: `none`, or `linear` to zero over all epochs.
        max_minutes: Stop after so long; zero has no limit.
        deterministic: Ask a GPU for the same bits every time.
    """

    epochs: int = 100
    batch_size: int = 1000
    block_size: int = 1
    optimizer: Literal["sgd", "adagrad", "adam"] = "sgd"
    learning_rate: float = 0.1
    decay: Literal["none", "linear"] = "none"
    max_minutes: float = 0.0
    deterministic: bool = False


@dataclass(frozen=True)
class ValidationConfig:
    """When to look, and when to stop.

    Attributes:
        every: Epochs between two looks; zero never looks and keeps the last weights.
        metric: What is watched; the weights with the best value are kept.
        patience: Looks without improvement before training stops; zero never stops early.
        facts: The most validation facts ranked at each look (a fixed sample); zero takes all.
    """

    every: int = 10
    metric: Literal["mrr", "mr", "hits@1", "hits@3", "hits@10"] = "mrr"
    patience: int = 0
    facts: int = 0


@dataclass(frozen=True)
class CheckpointConfig:
    """How much a crash may cost: a checkpoint is due after so many minutes or epochs (zero: not by that)."""

    minutes: float = 5.0
    epochs: int = 0


@dataclass(frozen=True)
class Config:
    """Everything a run depends on, beside the graph."""

    name: str
    model: Any
    seed: int = 0
    training: TrainingConfig = field(default_factory=TrainingConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    negatives: NegativesConfig = field(default_factory=NegativesConfig)
    assignment: AssignmentConfig = field(default_factory=AssignmentConfig)
    warm_start: WarmStartConfig = field(default_factory=WarmStartConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    def to_dict(self) -> dict[str, Any]:
        """Return plain nested dictionaries, as a TOML or JSON file would hold them."""
        content = asdict(self)
        name = content.pop("name")
        content["model"] = {"name": name, **content["model"]}
        return content


@dataclass(frozen=True)
class Layer:
    """Settings and where they were found, for messages."""

    source: str
    content: Mapping[str, Any]


def read_layer(path: Path) -> Layer:
    """Read a TOML file of settings."""
    try:
        return Layer(str(path), tomllib.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such config file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None


def assignments_layer(assignments: Iterable[str]) -> Layer:
    """Turn strings such as `training.epochs=50` into a layer; values are TOML, bare words are strings."""
    content: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {text!r}: write it as section.key=value, for example training.epochs=50")
        *sections, last = key.strip().split(".")
        place = content
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ConfigError(f"--set {text!r}: {section!r} is set to a value above and cannot hold keys")
        place[last] = _parse_value(value.strip())
    return Layer("--set", content)


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def build_config(layers: Iterable[Layer], model_configs: Mapping[str, type]) -> Config:
    """Merge the layers, last wins, and fill the dataclasses.

    Args:
        layers: Settings in the order of rising priority.
        model_configs: The config dataclass of each model by name; `model.name` chooses one.
    """
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        _merge(merged, layer.content, layer.source, sources, "")
    model = dict(_expect_table(merged.pop("model", {}), "model", sources))
    name = model.pop("name", "itransf")
    if not isinstance(name, str) or name not in model_configs:
        hint = did_you_mean(str(name), model_configs) or f" Choose one of {', '.join(model_configs)}."
        raise ConfigError(f"{_where('model.name', sources)}there is no model {name!r}.{hint}")
    filled_model = _fill(model_configs[name], model, "model.", sources)
    rest = _fill_values(Config, merged, "", sources, skip={"name", "model"})
    return Config(name=name, model=filled_model, **rest)


def _merge(into: dict[str, Any], content: Mapping[str, Any], source: str, sources: dict[str, str], at: str) -> None:
    for key, value in content.items():
        sources[at + key] = source
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value, source, sources, f"{at}{key}.")
        elif isinstance(value, Mapping):
            into[key] = {}
            _merge(into[key], value, source, sources, f"{at}{key}.")
        else:
            into[key] = value


def _fill(kind: type, content: Any, at: str, sources: Mapping[str, str]) -> Any:
    table = _expect_table(content, at.rstrip("."), sources)
    return kind(**_fill_values(kind, table, at, sources))


def _fill_values(
    kind: type, content: Mapping[str, Any], at: str, sources: Mapping[str, str], skip: Iterable[str] = ()
) -> dict[str, Any]:
    hints = get_type_hints(kind)
    known = [entry.name for entry in fields(kind) if entry.name not in set(skip)]
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key not in known:
            hint = did_you_mean(key, known) or f" Known here: {', '.join(known)}."
            raise ConfigError(f"{_where(at + key, sources)}there is no setting {at + key!r}.{hint}")
        values[key] = _check(value, hints[key], at + key, sources)
    return values


def _check(value: Any, hint: Any, key: str, sources: Mapping[str, str]) -> Any:
    """Return the value as the type asks for it, or say why not."""
    if isinstance(hint, type) and hasattr(hint, "__dataclass_fields__"):
        return _fill(hint, value, f"{key}.", sources)
    origin = get_origin(hint)
    if origin is Literal:
        choices = get_args(hint)
        if value in choices and not isinstance(value, bool):
            return value
        raise ConfigError(f"{_where(key, sources)}{key} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    if origin in (Union, types.UnionType):
        wanted = [part for part in get_args(hint) if part is not type(None)]
        return None if value is None else _check(value, wanted[0], key, sources)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{_where(key, sources)}{key} must be a {_plain(hint)}, not {value!r}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(value, key, sources)
    return value


def _check_number(value: float, key: str, sources: Mapping[str, str]) -> None:
    """Refuse numbers no setting can have."""
    if not math.isfinite(value):
        raise ConfigError(f"{_where(key, sources)}{key} must be a finite number, not {value!r}")
    if value < 0 or (value == 0 and key in ABOVE_ZERO):
        bound = "above zero" if key in ABOVE_ZERO else "zero or more"
        raise ConfigError(f"{_where(key, sources)}{key} must be {bound}, not {value!r}")


def _plain(kind: type) -> str:
    return {int: "whole number", float: "number", str: "text", bool: "true or false"}.get(kind, kind.__name__)


def _expect_table(value: Any, key: str, sources: Mapping[str, str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{_where(key, sources)}{key} is a section and cannot be set to {value!r}")
    return value


def _where(key: str, sources: Mapping[str, str]) -> str:
    return f"{sources[key]}: " if key in sources else ""


def format_toml(content: Mapping[str, Any]) -> str:
    """Write nested settings as TOML (only what settings need: numbers, text, booleans, sections)."""
    plain = [f"{key} = {_format_value(value)}" for key, value in content.items() if not isinstance(value, Mapping)]
    sections = [
        f"\n[{key}]\n" + "\n".join(f"{name} = {_format_value(value)}" for name, value in section.items())
        for key, section in content.items()
        if isinstance(section, Mapping)
    ]
    return "\n".join([*plain, *sections]) + "\n"


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{"".join(map(_escape, value))}"'
    return repr(value)


def _escape(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    is_control = ord(letter) < 0x20 or ord(letter) == 0x7F
    return f"\\u{ord(letter):04x}" if is_control else letter
