"""Presets, `DATASET/NAME.toml`: the models of the paper's main table, the best known settings, and a few more."""

import tomllib
from pathlib import Path

from itransf.config import Layer
from itransf.errors import ConfigError, did_you_mean

_FOLDER = Path(__file__).parent


def list_presets() -> list[str]:
    """Return the names of all presets, such as "wn18/itransf"."""
    return sorted(f"{file.parent.name}/{file.stem}" for file in _FOLDER.glob("*/*.toml"))


def read_preset(name: str) -> Layer:
    """Read a preset as a layer of settings.

    Raises:
        ConfigError: There is no such preset.
    """
    return Layer(f"preset {name}", tomllib.loads(read_text(name)))


def read_text(name: str) -> str:
    """Return the file of a preset, with its comments.

    Raises:
        ConfigError: There is no such preset.
    """
    if name not in list_presets():
        hint = did_you_mean(name, list_presets()) or " 'itransf presets' lists them."
        raise ConfigError(f"there is no preset {name!r}.{hint}")
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")
