"""Layers merged into one config: a later one overrides an earlier one key by key, and everything is checked."""

from __future__ import annotations

import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from itransf.config.layers import Layer
from itransf.config.sections import Config
from itransf.errors import ConfigError, did_you_mean

ABOVE_ZERO = {
    "training.batch_size",
    "training.block_size",
    "negatives.per_triple",
    "assignment.negatives",
    "model.dim",
}
AT_MOST_ONE = {"training.weight_averaging", "negatives.domain_stop"}
LARGEST = 2**63 - 1  # of whole numbers in a tensor


class _UnknownKeyError(Exception):
    """A key that a section does not have."""

    def __init__(self, at: str, key: str, known: list[str]) -> None:
        super().__init__(at, key, known)
        self.at, self.key, self.known = at, key, known


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
    try:
        filled_model = _fill(model_configs[name], model, "model.", sources)
        rest = _fill_values(Config, merged, "", sources, skip={"name"})
    except _UnknownKeyError as unknown:
        told = f"there is no setting {unknown.at + unknown.key!r}.{_suggest(unknown, model_configs[name])}"
        raise ConfigError(f"{_where(unknown.at + unknown.key, sources)}{told}") from None
    return Config(name=name, model=filled_model, **rest)


def _suggest(unknown: _UnknownKeyError, model: type) -> str:
    """Return what may have been meant: a key written like it, the same one of other sections, or what there is."""
    sections = {"model": model, **{key: kind for key, kind in get_type_hints(Config).items() if is_dataclass(kind)}}
    same = [f"{at}.{unknown.key}" for at, kind in sections.items() if unknown.key in {key.name for key in fields(kind)}]
    return (
        did_you_mean(unknown.key, unknown.known, unknown.at)
        or (f" Did you mean {' or '.join(map(repr, same))}?" if same else "")
        or f" Known here: {', '.join(unknown.known)}."
    )


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
            raise _UnknownKeyError(at, key, known)
        values[key] = _check(value, hints[key], at + key, sources)
    return values


def _check(value: Any, hint: Any, key: str, sources: Mapping[str, str]) -> Any:
    """Return the value as the type asks for it, or say why not; numpy's numbers count as Python's."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:  # without loading it for that
        value = value.item()
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
        raise ConfigError(f"{_where(key, sources)}{key} must be {name_kind(hint)}, not {value!r}")
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
    if isinstance(value, int) and value > LARGEST:
        raise ConfigError(f"{_where(key, sources)}{key} must be at most {LARGEST}, not {value!r}")
    if value > 1 and key in AT_MOST_ONE:
        raise ConfigError(f"{_where(key, sources)}{key} must be at most one, not {value!r}")


def name_kind(kind: type) -> str:
    """Return what a value of some kind is called."""
    words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
    return words.get(kind, f"a {kind.__name__}")


def _expect_table(value: Any, key: str, sources: Mapping[str, str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{_where(key, sources)}{key} is a section and cannot be set to {value!r}")
    return value


def _where(key: str, sources: Mapping[str, str]) -> str:
    return f"{sources[key]}: " if key in sources else ""
