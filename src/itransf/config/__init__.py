"""Settings: frozen dataclasses, filled from layers of TOML and `a.b=value` strings.

A later layer overrides an earlier one key by key. Unknown keys and values that do not fit are refused with the
name of the layer they came from.
"""

from __future__ import annotations

from itransf.config.building import build_config
from itransf.config.layers import Layer, assignments_layer, read_layer
from itransf.config.sections import (
    AssignmentConfig,
    CheckpointConfig,
    Config,
    LossConfig,
    NegativesConfig,
    TrainingConfig,
    ValidationConfig,
    WarmStartConfig,
)
from itransf.config.writing import format_toml

__all__ = [
    "AssignmentConfig",
    "CheckpointConfig",
    "Config",
    "Layer",
    "LossConfig",
    "NegativesConfig",
    "TrainingConfig",
    "ValidationConfig",
    "WarmStartConfig",
    "assignments_layer",
    "build_config",
    "format_toml",
    "read_layer",
]
