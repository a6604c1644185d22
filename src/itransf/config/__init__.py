"""Settings: frozen dataclasses, filled from layers of TOML and `section.key=value` strings.

A later layer overrides an earlier one key by key. Unknown keys and unfit values are refused with the name of their
layer.
"""

from __future__ import annotations

from itransf.config.layers import (
    Layer,
    Setting,
    assignments_layer,
    build_config,
    check_trusted,
    describe_settings,
    format_toml,
    parse_layer,
    read_layer,
)
from itransf.config.sections import (
    CHOOSE,
    DEFAULT_MODEL,
    AssignmentConfig,
    CheckpointConfig,
    Config,
    LossConfig,
    NegativesConfig,
    RegularizerConfig,
    TrainingConfig,
    ValidationConfig,
    WarmStartConfig,
    setting,
)

__all__ = [
    "CHOOSE",
    "DEFAULT_MODEL",
    "AssignmentConfig",
    "CheckpointConfig",
    "Config",
    "Layer",
    "LossConfig",
    "NegativesConfig",
    "RegularizerConfig",
    "Setting",
    "TrainingConfig",
    "ValidationConfig",
    "WarmStartConfig",
    "assignments_layer",
    "build_config",
    "check_trusted",
    "describe_settings",
    "format_toml",
    "parse_layer",
    "read_layer",
    "setting",
]
