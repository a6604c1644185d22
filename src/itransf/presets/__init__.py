"""Presets, `DATASET/NAME.toml`: the models of the paper's main table, the best known settings, and a few more."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable

from itransf.config import Layer
from itransf.errors import ConfigError, did_you_mean


def list_presets() -> list[str]:
    """Return the names of all presets, such as "wn18/itransf"."""
    return sorted(
        f"{folder.name}/{file.name.removesuffix('.toml')}"
        for folder in _root().iterdir()
        if folder.is_dir() and not folder.name.startswith("_")
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    )


def read_preset(name: str) -> Layer:
    """Read a preset as a layer of settings.

    Raises:
        ConfigError: There is no such preset.
    """
    if name not in list_presets():
        hint = did_you_mean(name, list_presets()) or f" There are: {', '.join(list_presets())}."
        raise ConfigError(f"there is no preset {name!r}.{hint}")
    text = _root().joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return Layer(f"preset {name}", tomllib.loads(text))


def _root() -> Traversable:
    return files("itransf.presets")
