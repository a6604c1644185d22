"""Settings and device of a run: merged from all sources, and remarks about those without effect."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from itransf.config import DEFAULT_MODEL, Config, Layer, assignments_layer, build_config, read_layer
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.models import MODELS
from itransf.presets import read_preset

Device = str | torch.device | None
"""A device by name or as a torch device; None is "auto"."""
Given = str | Path | Mapping[str, Any] | Config | None
"""Settings from a TOML file, a nested mapping, or another run."""

# Settings that a resumed run may change: they say how long or how safely to train.
CHANGEABLE = {
    "training.epochs",
    "training.max_minutes",
    "validation.patience",
    "checkpoint.minutes",
    "checkpoint.epochs",
}


def resolve_config(
    graph: Graph,
    preset: str | None = None,
    config: Given = None,
    settings: Sequence[str] = (),
    device: Device = "auto",
    stored: Config | None = None,
) -> Config:
    """Merge the defaults for this graph and device, or a preset, or the settings of a stored run, with overrides."""
    layers = read_layers(preset, config, settings)
    if stored is not None:
        layers.insert(0, Layer("the stored run", stored.to_dict()))
    elif not preset:
        layers.insert(0, default_layer(graph, find_model_name(layers), choose_device(device).type))
    return build_config(layers)


def read_layers(preset: str | None, config: Given, settings: Sequence[str]) -> list[Layer]:
    """Return the settings that a user gives, without the defaults of a graph.

    Raises:
        ConfigError: There is no such preset or model, or settings cannot be read.
    """
    layers = [*([read_preset(preset)] if preset else []), *read_given(config, settings)]
    build_config([Layer("settings", {"model": {"name": find_model_name(layers)}})])
    return layers


def default_layer(graph: Graph, model: str, device: str = "cpu") -> Layer:
    """Return the settings that a model chooses for a graph and a kind of device, "cpu" or "cuda"."""
    chosen: dict[str, Any] = MODELS[model].defaults(graph, device)
    return Layer("defaults", {**chosen, "model": {"name": model, **chosen.get("model", {})}})


def read_given(config: Given, settings: Sequence[str]) -> list[Layer]:
    """Return the settings of a user: a TOML file, nested mapping or config, then "training.epochs=50" strings.

    Raises:
        ConfigError: They are of another type, or the file cannot be read.
    """
    given = [assignments_layer(check_settings(settings))]
    if config is None:
        return given
    if isinstance(config, Config):
        config = config.to_dict()
    if isinstance(config, Mapping):
        return [Layer("config", config), *given]
    if not isinstance(config, str | Path):
        raise ConfigError(f"config is a TOML file, a nested mapping or a run's config, not {config!r}")
    return [read_layer(Path(config)), *given]


def check_settings(settings: Sequence[str]) -> list[str]:
    """Return a list of strings such as "training.epochs=50".

    Raises:
        ConfigError: The settings are something else.
    """
    is_list = isinstance(settings, Iterable) and not isinstance(settings, str | Mapping)
    if not is_list or not all(isinstance(setting, str) for setting in settings):
        raise ConfigError('settings are a list of strings, such as ["training.epochs=50"]; a mapping goes into config')
    return list(settings)


def find_model_name(layers: Iterable[Layer]) -> str:
    """Return the name of the model after all layers."""
    name = DEFAULT_MODEL
    for layer in layers:
        model = layer.content.get("model", {})
        found = model.get("name", name) if isinstance(model, Mapping) else name
        name = found if isinstance(found, str) else name  # anything else is refused when the layers are merged
    return name


def choose_device(wanted: Device = "auto") -> torch.device:
    """Turn "auto", "cpu", "cuda" or "cuda:1" into a torch device.

    Raises:
        ConfigError: There is no such device.
    """
    if wanted is None or wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except (RuntimeError, TypeError):
        raise ConfigError(f"there is no device {wanted!r}; use auto, cpu, cuda or cuda:1") from None
    if device.type not in ("cpu", "cuda"):
        raise ConfigError(f"device {str(device)!r} is not supported; use auto, cpu, cuda or cuda:1")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("torch finds no GPU here for device cuda; use cpu")
    if device.index is not None and device.type == "cuda" and device.index >= torch.cuda.device_count():
        raise ConfigError(f"there is no {device}: torch finds {torch.cuda.device_count()} GPUs, numbered from 0")
    return device


SAMPLING = ("negatives.sampler", "negatives.domain", "negatives.domain_stop", "negatives.tries")  # also for concepts
IDLE = {
    ("loss.name", "cross_entropy"): (
        "loss.margin",
        "loss.adversarial_temperature",
        "negatives.per_triple",
        "negatives.shared",
        *SAMPLING,
    ),
    ("loss.name", "hinge"): ("loss.adversarial_temperature", "loss.scale", "loss.candidates", "loss.relation_weight"),
    ("loss.name", "self_adversarial"): ("loss.scale", "loss.candidates", "loss.relation_weight"),
    ("negatives.domain", 0.0): ("negatives.domain_stop",),
    ("negatives.filtered", False): ("negatives.tries",),
    ("model.attention", "dense"): ("model.support_size", "model.l1_weight"),
    ("model.attention", "sparse"): ("model.l1_weight",),
    ("model.attention", "l1"): ("model.support_size", "model.temperature"),
    ("warm_start.epochs", 0): ("warm_start.learning_rate", "warm_start.sampler"),
}
"""Settings that have no effect while another one has this value; the last reason for one is given."""


def list_idle(config: Config, given: Iterable[Layer]) -> list[str]:
    """Return a sentence for each setting in these layers that has no effect in this config."""
    values = flatten(config.to_dict())
    reasons = {key: at for (at, value), idle in IDLE.items() if values.get(at) == value for key in idle}
    if not config.has_assignment:
        at = "model.attention" if "model.attention" in values else "model.name"
        reasons |= {key: at for key in values if key.startswith("assignment.")}
    notes = []
    for key in dict.fromkeys(key for layer in given for key in flatten(layer.content) if key in reasons):
        at = reasons[key]
        still = " but on the choice of concepts" if at == "loss.name" and key in SAMPLING else ""
        notes.append(f"{key} has no effect{still} where {at} is {values[at]!r}")
    return notes


def list_rescheduled(stored: Config, config: Config) -> list[str]:
    """Return a sentence about schedules that shift because a resumed run has another number of epochs."""
    before, now = stored.training.epochs, config.training.epochs
    schedules = {
        "training.lr_decay": config.training.lr_decay == "linear",
        "training.weight_averaging": config.training.weight_averaging > 0,
        "assignment.stop": bool(config.assignment.every) and config.has_assignment,
        "negatives.domain_stop": bool(config.negatives.domain) and config.negatives.domain_stop < 1,
    }
    shifted = [key for key, is_used in schedules.items() if is_used]
    if before == now or not shifted:
        return []
    return [f"the run started with {before:,} epochs and now has {now:,}; this shifts {', '.join(shifted)}"]


def flatten(content: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """Return nested settings with dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in content.items():
        flat |= flatten(value, f"{at}{key}.") if isinstance(value, Mapping) else {at + key: value}
    return flat
