from __future__ import annotations

import pytest

from itransf.config import build_config
from itransf.errors import ConfigError
from itransf.models import MODELS
from itransf.presets import list_presets, read_preset


def test_presets_are_named_after_data_and_model() -> None:
    for name in list_presets():
        dataset, _, row = name.partition("/")
        assert dataset
        assert any(row.startswith(model) for model in MODELS), name


def test_every_preset_builds_the_model_it_is_named_after() -> None:
    for name in list_presets():
        config = build_config([read_preset(name)])
        assert name.partition("/")[2].startswith(config.name), name


def test_an_unknown_preset_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="no preset 'nothing/here'"):
        read_preset("nothing/here")
