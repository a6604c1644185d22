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

MODEL_CONFIGS = {name: model.Config for name, model in MODELS.items()}


def resolve_config(
    graph: Graph,
    preset: str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    settings: Sequence[str] = (),
    device: str = "auto",
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


def read_given(config: str | Path | Mapping[str, Any] | None, settings: Sequence[str]) -> list[Layer]:
    """Return what a person asks for: a TOML file (or nested mapping), then strings such as "training.epochs=50"."""
    layers = [assignments_layer(list_settings(settings))]
    if config is not None:
        layers.insert(0, Layer("config", config) if isinstance(config, Mapping) else read_layer(Path(config)))
    return layers


def list_settings(settings: Sequence[str]) -> list[str]:
    """Return settings such as "training.epochs=50" as a list.

    Raises:
        ConfigError: They are no sequence of strings.
    """
    if isinstance(settings, str | Mapping) or not all(isinstance(setting, str) for setting in settings):
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


def choose_device(name: str) -> torch.device:
    """Turn "auto", "cpu" or "cuda" into a device."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name not in ("cpu", "cuda"):
        raise ConfigError(f"there is no device {name!r}; use auto, cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError("cuda was asked for, but torch sees no GPU here; use --device cpu")
    return torch.device(name)
