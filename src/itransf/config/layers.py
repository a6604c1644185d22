"""Settings from TOML files and `section.key=value` strings: read, merged, checked, described and written."""

import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from itransf.config.sections import CHOOSE, DEFAULT_MODEL, Config
from itransf.errors import ConfigError, did_you_mean
from itransf.registry import BY_SETTING, MODELS

WORDS: dict[float, str] = {0: "zero", 1: "one"}  # for bounds
LARGEST = 2**63 - 1  # of the integers in a tensor; the product of two such numbers is still a float
BARE_NUMBER = re.compile(r"[+-]?(\.\d+|\d+\.)(e[+-]?\d+)?", re.IGNORECASE)  # forms that TOML does not have


@dataclass(frozen=True)
class Layer:
    """Settings and their source, for messages."""

    source: str
    content: Mapping[str, Any]


def read_layer(path: Path) -> Layer:
    """Read a TOML file of settings."""
    try:
        return parse_layer(path.read_bytes(), path)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such config file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None


def parse_layer(content: bytes, path: Path) -> Layer:
    """Return the settings in the bytes of a TOML file."""
    try:
        return Layer(str(path), tomllib.loads(content.decode()))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}") from None


def assignments_layer(assignments: Iterable[str]) -> Layer:
    """Turn strings such as `training.epochs=50` into a layer; values are TOML, `.5` is 0.5, bare words are strings."""
    content: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"setting {text!r}: write it as section.key=value, for example training.epochs=50")
        *sections, last = key.strip().split(".")
        place = content
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise ConfigError(f"setting {text!r}: {section!r} is set to a value above and cannot hold keys")
        place[last] = _parse_value(value.strip())
    return Layer("settings", content)


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return float(text) if BARE_NUMBER.fullmatch(text) else text


def build_config(layers: Iterable[Layer]) -> Config:
    """Merge layers of settings, the last wins, and check every value.

    Raises:
        ConfigError: A setting does not exist, or its value does not fit; the message names the layer.
    """
    return _Builder(layers).build()


class _Builder:
    """Merges layers, and knows the layer of each setting for messages."""

    def __init__(self, layers: Iterable[Layer]) -> None:
        self._merged: dict[str, Any] = {}
        self._sources: dict[str, str] = {}
        for layer in layers:
            self._merge(self._merged, layer.content, layer.source, "")

    def _merge(self, into: dict[str, Any], content: Mapping[str, Any], source: str, at: str) -> None:
        for key, value in content.items():
            self._sources[at + key] = source
            is_section = isinstance(value, Mapping)
            if not is_section or not isinstance(into.get(key), dict):
                into[key] = {} if is_section else value
            if is_section:
                self._merge(into[key], value, source, f"{at}{key}.")

    def build(self) -> Config:
        """Return the settings."""
        model = dict(self._expect_table(self._merged.pop("model", {}), "model"))
        name = model.pop("name", DEFAULT_MODEL)
        self._model: type = self._find("model.name", name).Config
        own = self._model(**self._check_values(self._model, model, "model."))
        for key, value in vars(own).items():
            if not isinstance(value, int | float | str) or (isinstance(value, float) and not math.isfinite(value)):
                raise self._refuse(
                    f"model.{key}", f"model.{key} = {value!r} cannot be stored; use a number, text, true or false"
                )
        config = Config(name=name, model=own, **self._check_values(Config, self._merged, "", skip="name"))
        for key, named in list_named(config.to_dict()).items():
            self._find(key, named)
        return config

    def _find(self, key: str, name: Any) -> Any:
        """Return what a setting such as `loss.name` names."""
        try:
            return BY_SETTING[key][str(name)]
        except ConfigError as error:
            raise self._refuse(key, f"{key}: {error}") from None

    def _refuse(self, key: str, fault: str) -> ConfigError:
        """Return the error for a setting, which begins with its layer."""
        return ConfigError(f"{self._sources[key]}: {fault}" if key in self._sources else fault)

    def _check_values(self, kind: type, content: Mapping[str, Any], at: str, skip: str = "") -> dict[str, Any]:
        """Return the values of a section as its class wants them."""
        hints = get_type_hints(kind)
        known = {entry.name: entry.metadata.get("bounds", {}) for entry in fields(kind) if entry.name != skip}
        for key in content:
            if key not in known:
                raise self._refuse(at + key, f"there is no setting {at + key!r}.{self._suggest(at, key, list(known))}")
        return {key: self._check(value, hints[key], at + key, known[key]) for key, value in content.items()}

    def _suggest(self, at: str, key: str, known: list[str]) -> str:
        """Return a similar key, the same key of another section, or the keys there are."""
        kinds = {name: kind for name, kind in get_type_hints(Config).items() if is_dataclass(kind)}
        sections = {"model": self._model, **kinds}
        same = [f"{name}.{key}" for name, kind in sections.items() if key in {entry.name for entry in fields(kind)}]
        elsewhere = f" Did you mean {' or '.join(map(repr, same))}?" if same else ""
        return did_you_mean(key, known, at) or elsewhere or f" Known here: {', '.join(known)}."

    def _check(self, value: Any, hint: Any, key: str, bounds: Mapping[str, float]) -> Any:
        """Return the value as the type wants it; numpy scalars count as Python numbers."""
        if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:  # without importing it
            value = value.item()
        if isinstance(hint, type) and is_dataclass(hint):
            return hint(**self._check_values(hint, self._expect_table(value, key), f"{key}."))
        if get_origin(hint) is Literal:
            choices = get_args(hint)
            if value in choices and not isinstance(value, bool):
                return value
            raise self._refuse(key, f"{key} must be one of {', '.join(map(repr, choices))}, not {value!r}")
        if isinstance(value, int) and abs(value) > LARGEST:
            raise self._refuse(key, f"{key} must be at most {WORDS.get(LARGEST, LARGEST)}, not {value!r}")
        if hint is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
            raise self._refuse(key, f"{key} must be {name_kind(hint)}, not {value!r}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._check_number(value, key, bounds)
        return value

    def _check_number(self, value: float, key: str, bounds: Mapping[str, float]) -> None:
        """Refuse numbers that the setting cannot have; no model, built in or not, has a dimension of zero."""
        above = 0 if key == "model.dim" else bounds.get("above", -math.inf)
        least, below, most = bounds.get("least", 0), bounds.get("below", math.inf), bounds.get("most", LARGEST)
        fits = {
            "a finite number": math.isfinite(value),
            f"above {WORDS.get(above, above)}": value > above,
            f"at least {least}" if least else "zero or more": value >= least,
            f"below {WORDS.get(below, below)}": value < below,
            f"at most {WORDS.get(most, most)}": value <= most,
        }
        bound = next((bound for bound, is_met in fits.items() if not is_met), "")
        if bound and not (key == "regularizer.weight" and value == CHOOSE):
            raise self._refuse(key, f"{key} must be {bound}, not {value!r}")

    def _expect_table(self, value: Any, key: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self._refuse(key, f"{key} is a section and cannot be set to {value!r}")
        return value


def list_named(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the settings that name a model, a loss and the like; None where there is none."""
    found = {}
    for key in BY_SETTING:
        section, _, entry = key.partition(".")
        table = content.get(section)
        found[key] = table.get(entry) if isinstance(table, Mapping) else None
    return found


def name_kind(kind: Any) -> str:
    """Return the name of a type, or the choices, for people."""
    if get_origin(kind) is Literal:
        return " | ".join(map(str, get_args(kind)))
    words = {int: "an integer", float: "a number", str: "text", bool: "true or false"}
    return words.get(kind, f"a {getattr(kind, '__name__', kind)}")


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
    """Return a value as TOML, which is JSON but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")


class Setting(NamedTuple):
    """Description of a setting.

    Attributes:
        key: Name for `--set`, such as "training.epochs".
        default: Default value.
        values: Type or choices.
        description: One or two sentences.
        auto: How a training without a preset chooses the value, if it depends on the graph or the model.
    """

    key: str
    default: Any
    values: str
    description: str
    auto: str = ""


def describe_settings(model: str = DEFAULT_MODEL) -> list[Setting]:
    """Return all settings, with the own ones of a model."""
    hints = get_type_hints(Config)
    sections = {entry.name: hints[entry.name] for entry in fields(Config) if is_dataclass(hints[entry.name])}
    return [
        Setting("seed", 0, name_kind(int), "Random seed."),
        Setting("model.name", model, " | ".join(MODELS), "Model, or package.module:Name for one of your own."),
        *describe_class("model", MODELS[model].Config),
        *(each for section, kind in sections.items() for each in describe_class(section, kind)),
    ]


def describe_class(section: str, kind: type) -> list[Setting]:
    """Return the settings that a config dataclass declares."""
    hints = get_type_hints(kind)
    return [
        Setting(
            f"{section}.{entry.name}",
            None if entry.default is MISSING else entry.default,
            name_kind(hints[entry.name]),
            entry.metadata.get("description", ""),
            entry.metadata.get("auto", ""),
        )
        for entry in fields(kind)
    ]


def check_trusted(layer: Layer, where: str) -> None:
    """Refuse settings of the run `where` that would import code which the user neither named nor installed."""
    for key, name in list_named(layer.content).items():
        if isinstance(name, str):
            BY_SETTING[key].check_trusted(name, where)
