"""What a run is made with: its settings, from all that has a say in them, and its device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from itransf.config import Config, Layer, assignments_layer, build_config, read_layer
from itransf.data.graph import Graph
from itransf.defaults import default_layer
from itransf.errors import ConfigError
from itransf.models import MODELS
from itransf.presets import read_preset

Device = str | torch.device | None
"""A device by name or as torch has it; None chooses as "auto" does."""
Given = str | Path | Mapping[str, Any] | Config | None
"""Settings from a TOML file, a nested mapping, or another run."""
MODEL_CONFIGS = {name: model.Config for name, model in MODELS.items()}


def resolve_config(
    graph: Graph,
    preset: str | None = None,
    config: Given = None,
    settings: Sequence[str] = (),
    device: Device = "auto",
    stored: Config | None = None,
) -> Config:
    """Merge defaults for this graph and device, or a preset, or a stored run's settings, with what overrides them."""
    layers = [*([read_preset(preset)] if preset else []), *read_given(config, settings)]
    if stored is not None:
        layers.insert(0, Layer("the stored run", stored.to_dict()))
    elif not preset:
        chosen = build_model_name(layers)
        layers.insert(0, default_layer(graph, chosen, choose_device(device).type))
    return build_config(layers, MODEL_CONFIGS)


def read_given(config: Given, settings: Sequence[str]) -> list[Layer]:
    """Return what a person asks for: a TOML file (or nested mapping), then strings such as "training.epochs=50"."""
    layers = [assignments_layer(list_settings(settings))]
    if config is not None:
        layers.insert(0, read_config(config))
    return layers


def read_config(config: str | Path | Mapping[str, Any] | Config) -> Layer:
    """Return the settings of a TOML file, of a nested mapping or of another run.

    Raises:
        ConfigError: It is none of these, or cannot be read.
    """
    if isinstance(config, Config):
        config = config.to_dict()
    if isinstance(config, Mapping):
        return Layer("config", config)
    if not isinstance(config, str | Path):
        raise ConfigError(f"config is a TOML file, a nested mapping or a run's config, not {config!r}")
    return read_layer(Path(config))


def list_settings(settings: Sequence[str]) -> list[str]:
    """Return settings such as "training.epochs=50" as a list.

    Raises:
        ConfigError: They are no sequence of strings.
    """
    is_list = isinstance(settings, Iterable) and not isinstance(settings, str | Mapping)
    if not is_list or not all(isinstance(setting, str) for setting in settings):
        raise ConfigError('settings are a list of strings, such as ["training.epochs=50"]; a mapping goes into config')
    return list(settings)


def build_model_name(layers: Iterable[Layer]) -> str:
    """Return the model's name that the layers agree on in the end."""
    name = "itransf"
    for layer in layers:
        model = layer.content.get("model", {})
        found = model.get("name", name) if isinstance(model, Mapping) else name
        name = found if isinstance(found, str) else name  # what is no name is refused when the layers are merged
    return name


def choose_device(wanted: Device = "auto") -> torch.device:
    """Turn "auto", "cpu", "cuda" or "cuda:1" into a device; torch's own are taken as they are.

    Raises:
        ConfigError: There is no such device here.
    """
    if wanted is None or wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except (RuntimeError, TypeError):
        raise ConfigError(f"there is no device {wanted!r}; use auto, cpu or cuda") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"there is no training on device {str(device)!r}; use auto, cpu or cuda")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("cuda was asked for, but torch sees no GPU here; use cpu")
    if device.index is not None and device.type == "cuda" and device.index >= torch.cuda.device_count():
        raise ConfigError(f"there is no {device}: torch sees {torch.cuda.device_count()} GPUs, numbered from 0")
    return device
