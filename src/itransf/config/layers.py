"""Settings from TOML files and `section.key=value` strings: read, merged, checked, described and written."""

import ast
import json
import math
import re
import tomllib
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from itransf.config.sections import CHOOSE, DEFAULT_MODEL, Config
from itransf.errors import ConfigError, did_you_mean
from itransf.registry import BY_SETTING, MODELS, is_path

ABOVE_ZERO = {"training.batch_size", "training.block_size", "negatives.per_triple", "assignment.negatives", "model.dim"}
AT_MOST_ONE = {"training.weight_averaging", "negatives.domain_stop"}
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


class _UnknownKeyError(Exception):
    """A key that a section does not have; its arguments are the section, the key and the known keys."""


def build_config(layers: Iterable[Layer]) -> Config:
    """Merge layers of settings, the last wins, and check every value.

    Raises:
        ConfigError: A setting does not exist, or its value does not fit; the message names the layer.
    """
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        _merge(merged, layer.content, layer.source, sources, "")
    model = dict(_expect_table(merged.pop("model", {}), "model", sources))
    name = model.pop("name", DEFAULT_MODEL)
    model_config = _find("model.name", name, sources).Config
    try:
        filled_model = _fill(model_config, model, "model.", sources)
        rest = _fill_values(Config, merged, "", sources, skip={"name"})
    except _UnknownKeyError as unknown:
        at, key, known = unknown.args
        message = f"there is no setting {at + key!r}.{_suggest(at, key, known, model_config)}"
        raise ConfigError(f"{_where(at + key, sources)}{message}") from None
    config = Config(name=name, model=filled_model, **rest)
    content = config.to_dict()
    for key in BY_SETTING:
        section, _, entry = key.partition(".")
        _find(key, content[section][entry], sources)
    return config


def _find(key: str, name: Any, sources: Mapping[str, str]) -> Any:
    """Return what a setting such as `loss.name` names."""
    try:
        return BY_SETTING[key][str(name)]
    except ConfigError as error:
        raise ConfigError(f"{_where(key, sources)}{key}: {error}") from None


def _suggest(at: str, key: str, known: list[str], model: type) -> str:
    """Return a similar key, the same key of another section, or the keys there are."""
    sections = {"model": model, **{name: kind for name, kind in get_type_hints(Config).items() if is_dataclass(kind)}}
    same = [f"{name}.{key}" for name, kind in sections.items() if key in {entry.name for entry in fields(kind)}]
    elsewhere = f" Did you mean {' or '.join(map(repr, same))}?" if same else ""
    return did_you_mean(key, known, at) or elsewhere or f" Known here: {', '.join(known)}."


def _merge(into: dict[str, Any], content: Mapping[str, Any], source: str, sources: dict[str, str], at: str) -> None:
    for key, value in content.items():
        sources[at + key] = source
        is_section = isinstance(value, Mapping)
        if not is_section or not isinstance(into.get(key), dict):
            into[key] = {} if is_section else value
        if is_section:
            _merge(into[key], value, source, sources, f"{at}{key}.")


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
    """Return the value as the type wants it; numpy scalars count as Python numbers."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:  # without importing it
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
    """Refuse numbers that no setting can have."""
    if not math.isfinite(value):
        raise ConfigError(f"{_where(key, sources)}{key} must be a finite number, not {value!r}")
    if key == "regularizer.weight" and value == CHOOSE:
        return
    if value < 0 or (value == 0 and key in ABOVE_ZERO):
        bound = "above zero" if key in ABOVE_ZERO else "zero or more"
        raise ConfigError(f"{_where(key, sources)}{key} must be {bound}, not {value!r}")
    if value > LARGEST:
        raise ConfigError(f"{_where(key, sources)}{key} must be at most {LARGEST}, not {value!r}")
    if value > 1 and key in AT_MOST_ONE:
        raise ConfigError(f"{_where(key, sources)}{key} must be at most one, not {value!r}")


def name_kind(kind: Any) -> str:
    """Return the name of a type, or the choices, for people."""
    if get_origin(kind) is Literal:
        return " | ".join(map(str, get_args(kind)))
    words = {int: "an integer", float: "a number", str: "text", bool: "true or false"}
    return words.get(kind, f"a {kind.__name__}")


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
    """Return all settings, with the own ones of a model. Built-in models are read without importing torch."""
    hints = get_type_hints(Config)
    sections = {entry.name: hints[entry.name] for entry in fields(Config) if is_dataclass(hints[entry.name])}
    is_foreign = is_path(model) or model in MODELS.installed
    own = describe_class("model", MODELS[model].Config) if is_foreign else _read_model_settings(model)
    found = [
        Setting("seed", 0, name_kind(int), "Random seed."),
        Setting("model.name", model, " | ".join(MODELS), "Model, or package.module:Name for one of your own."),
        *own,
    ]
    return found + [each for section, kind in sections.items() for each in describe_class(section, kind)]


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


def _read_model_settings(model: str) -> list[Setting]:
    """Read the settings of a built-in model from its source: importing it would import torch."""
    if model not in MODELS.names:
        MODELS[model]  # raises with a suggestion
    module = MODELS.names[model].partition(":")[0]
    source = _parse_module(module)
    name = next(name for name in (*source.classes, *source.imports) if name.endswith("Config"))
    return list(_read_class(module, name).values())


class _Module(NamedTuple):
    classes: dict[str, ast.ClassDef]
    imports: dict[str, str]


def _parse_module(module: str) -> _Module:
    path = Path(__file__).parents[1].joinpath(*module.split(".")[1:]).with_suffix(".py")
    body = ast.parse(path.read_text(encoding="utf-8")).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom) and node.module]
    return _Module(
        {node.name: node for node in body if isinstance(node, ast.ClassDef)},
        {alias.name: node.module or "" for node in imports for alias in node.names},
    )


def _read_class(module: str, name: str) -> dict[str, Setting]:
    """Return the settings of a config class and its bases, by name; values are literals or `setting(...)` calls."""
    source = _parse_module(module)
    if name not in source.classes:
        return _read_class(source.imports[name], name)
    found: dict[str, Setting] = {}
    for base in source.classes[name].bases:
        found |= _read_class(module, ast.unparse(base))
    kinds = {"int": int, "float": float, "bool": bool, "str": str}
    for node in source.classes[name].body:
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            key, text = ast.unparse(node.target), ast.unparse(node.annotation)
            values = (
                name_kind(kinds[text]) if text in kinds else " | ".join(map(str, ast.literal_eval(text[8:-1] + ",")))
            )
            given = node.value.args if isinstance(node.value, ast.Call) else [node.value, ast.Constant("")]
            default, *texts = map(ast.literal_eval, given)
            found[key] = Setting(f"model.{key}", default, values, *texts)
    return found


def check_trusted(layer: Layer, where: str) -> None:
    """Refuse settings of the run `where` that would import code which the user neither named nor installed."""
    for key, registry in BY_SETTING.items():
        section, _, entry = key.partition(".")
        content = layer.content.get(section, {})
        name = content.get(entry) if isinstance(content, Mapping) else None
        if isinstance(name, str):
            registry.check_trusted(name, where)
