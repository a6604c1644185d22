from __future__ import annotations

import math
import tomllib
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from itransf.config import Config, Layer, assignments_layer, build_config, format_toml, read_layer
from itransf.errors import ConfigError
from itransf.models import MODELS

KINDS = {name: model.Config for name, model in MODELS.items()}


def build(*layers: dict[str, Any]) -> Config:
    return build_config([Layer(f"layer {number}", layer) for number, layer in enumerate(layers)])


def refuse(*layers: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        build(*layers)
    return str(caught.value)


class TestLayers:
    def test_a_later_layer_overrides_key_by_key(self) -> None:
        config = build(
            {"training": {"epochs": 7, "batch_size": 3}, "seed": 1},
            {"training": {"epochs": 9}, "model": {"name": "stranse"}},
            {"model": {"dim": 11}},
        )
        assert (config.training.epochs, config.training.batch_size, config.seed) == (9, 3, 1)
        assert (config.name, config.model.dim) == ("stranse", 11)
        assert isinstance(config.model, KINDS["stranse"])

    def test_no_layers_give_the_default_model_with_its_defaults(self) -> None:
        config = build()
        assert config.name == "icomplex"
        assert config.model == KINDS["icomplex"]()

    def test_layers_are_not_changed_by_merging(self) -> None:
        first = {"training": {"epochs": 7}}
        build(first, {"training": {"epochs": 9}})
        assert first == {"training": {"epochs": 7}}

    def test_whole_numbers_are_fine_where_any_number_is(self) -> None:
        rate = build({"training": {"learning_rate": 1}}).training.learning_rate
        assert rate == 1.0
        assert isinstance(rate, float)


class TestRefusals:
    def test_an_unknown_key_names_its_source_and_what_was_meant(self) -> None:
        message = refuse({"training": {"epochs": 1}}, {"training": {"epoch": 9}})
        assert message.startswith("layer 1: ")
        assert "'training.epoch'" in message
        assert message.endswith("Did you mean 'training.epochs'?")
        assert "Did you mean 'training'" in refuse({"trainin": {"epochs": 1}})

    def test_a_key_unlike_any_other_is_answered_with_what_there_is(self) -> None:
        message = refuse({"checkpoint": {"zzz": 1}})
        assert message.startswith("layer 0: ")
        assert "'checkpoint.zzz'" in message
        assert message.endswith(": minutes, epochs.")

    @pytest.mark.parametrize(
        ("given", "meant"),
        [
            ({"dim": 5}, "'model.dim'"),
            ({"training": {"concepts": 5}}, "'model.concepts'"),
            ({"epochs": 5}, "'training.epochs' or 'warm_start.epochs' or 'checkpoint.epochs'"),
        ],
    )
    def test_a_key_of_another_section_is_answered_with_the_whole_key(self, given: dict[str, Any], meant: str) -> None:
        assert refuse(given).endswith(f". Did you mean {meant}?")

    def test_sections_are_reported_with_the_models_own(self) -> None:
        assert ": model, seed, training," in refuse({"zzzzz": 1})
        assert "Did you mean 'model'?" in refuse({"modl": {"dim": 1}})

    def test_a_key_of_another_model(self) -> None:
        message = refuse({"model": {"name": "transe", "concepts": 3}})
        assert message.startswith("layer 0: ")
        assert "'model.concepts'" in message

    def test_an_unknown_model(self) -> None:
        message = refuse({"model": {"name": "transf"}})
        assert message.startswith("layer 0: model.name: ")
        assert "'transf'. Did you mean" in message
        assert "transe, transh, transr" in refuse({"model": {"name": "qqq"}})
        assert "there is no model '3'" in refuse({"model": {"name": 3}})
        assert "['transe']" in refuse({"model": {"name": ["transe"]}})

    def test_a_number_larger_than_any_integer_of_a_tensor(self) -> None:
        assert "training.epochs must be at most" in refuse({"training": {"epochs": 10**400}})

    def test_settings_that_cannot_be_stored(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for value in (None, math.inf, [1], (1, 2)):
            cap = field(default_factory=lambda value=value: value)
            monkeypatch.setattr(MODELS["transe"], "Config", make_dataclass("Own", [("cap", object, cap)], frozen=True))
            assert f"model.cap = {value!r} cannot be stored" in refuse({"model": {"name": "transe"}})

    def test_numpys_numbers_count_as_pythons(self) -> None:
        config = build(
            {"training": {"epochs": np.int64(3), "learning_rate": np.float32(0.5), "deterministic": np.True_}}
        )
        values = (config.training.epochs, config.training.learning_rate, config.training.deterministic)
        assert values == (3, 0.5, True)
        assert [type(value) for value in values] == [int, float, bool]

    @pytest.mark.parametrize(
        ("section", "key", "value", "kind"),
        [
            ("training", "epochs", "many", "integer"),
            ("training", "epochs", np.float64(2.5), "integer"),
            ("training", "epochs", 1.5, "integer"),
            ("training", "epochs", True, "integer"),
            ("training", "learning_rate", "fast", "number"),
            ("training", "learning_rate", False, "number"),
            ("training", "deterministic", 1, "true or false"),
            ("warm_start", "run", 3, "text"),
            ("model", "dim", [3], "integer"),
        ],
    )
    def test_a_value_of_the_wrong_kind(self, section: str, key: str, value: Any, kind: str) -> None:
        message = refuse({section: {key: value}})
        assert message.startswith(f"layer 0: {section}.{key} must be ")
        assert message.endswith(f"{kind}, not {getattr(value, 'item', lambda: value)()!r}")

    @pytest.mark.parametrize(
        ("section", "key", "value"),
        [("training", "epochs", -1), ("training", "learning_rate", -0.1), ("model", "dim", -5)],
    )
    def test_a_negative_number(self, section: str, key: str, value: float) -> None:
        bound = "above zero" if key == "dim" else "zero or more"
        assert refuse({section: {key: value}}) == f"layer 0: {section}.{key} must be {bound}, not {value!r}"

    def test_a_share_above_one(self) -> None:
        assert "at most 9223372036854775807" in refuse({"seed": 2**64})
        assert "at most" in refuse({"training": {"learning_rate": 1e300}})
        for section, key in (("training", "weight_averaging"), ("negatives", "domain_stop")):
            message = refuse({section: {key: 1.5}})
            assert message.startswith(f"layer 0: {section}.{key} ")
            assert message.endswith("at most one, not 1.5")

    @pytest.mark.parametrize(
        ("section", "key"),
        [
            ("training", "batch_size"),
            ("negatives", "per_triple"),
            ("assignment", "negatives"),
            ("model", "dim"),
            ("model", "concepts"),
            ("model", "support_size"),
            ("model", "temperature"),
        ],
    )
    def test_a_zero_that_means_nothing(self, section: str, key: str) -> None:
        assert f"{section}.{key}" in refuse({section: {key: 0}})

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_a_number_that_is_none(self, value: float) -> None:
        assert "training.learning_rate" in refuse({"training": {"learning_rate": value}})

    @pytest.mark.parametrize(
        ("section", "key", "value"),
        [
            ("training", "optimizer", "sdg"),
            ("loss", "name", "Hinge"),
            ("validation", "metric", "hits@5"),
            ("model", "p_norm", 3),
            ("model", "p_norm", True),
            ("model", "projected_constraint", ["unit"]),
            ("model", "attention", "spars"),
        ],
    )
    def test_a_choice_that_is_not_offered(self, section: str, key: str, value: Any) -> None:
        message = refuse({"model": {"name": "itransf"}}, {section: {key: value}})
        assert message.startswith(f"layer 1: {section}.{key}")
        assert str(value) in message

    @pytest.mark.parametrize("section", ["training", "model"])
    def test_a_section_cannot_be_a_value(self, section: str) -> None:
        message = refuse({section: {"dim": 3} if section == "model" else {}}, {section: 3})
        assert message.startswith(f"layer 1: {section} is a section")

    def test_a_value_cannot_be_a_section(self) -> None:
        assert "seed must be an integer" in refuse({"seed": {"a": 1}})

    def test_the_source_is_the_layer_that_last_set_it(self) -> None:
        assert refuse({"training": {"epochs": 3}}, {"training": {"epochs": "x"}}, {"seed": 2}).startswith("layer 1: ")


class TestAssignments:
    def test_values_are_toml_and_bare_words_are_text(self) -> None:
        layer = assignments_layer(
            ["training.epochs=50", "a.b.c = 1e-3", "d=true", "e=itransf", 'f="5"', "g=", "h=a=b", "i=[1, 2]"]
        )
        assert layer.source == "settings"
        assert layer.content == {
            "training": {"epochs": 50},
            "a": {"b": {"c": 0.001}},
            "d": True,
            "e": "itransf",
            "f": "5",
            "g": "",
            "h": "a=b",
            "i": [1, 2],
        }

    @pytest.mark.parametrize(
        ("text", "value"),
        [(".75", 0.75), ("-.5", -0.5), ("+.1e-2", 0.001), ("2.", 2.0), (".", "."), (".a", ".a"), ("1.2.3", "1.2.3")],
    )
    def test_numbers_may_begin_or_end_in_a_point(self, text: str, value: object) -> None:
        assert assignments_layer([f"a={text}"]).content == {"a": value}

    def test_several_keys_of_a_section_and_a_later_value(self) -> None:
        layer = assignments_layer(["training.epochs=1", "training.lr_decay=linear", "training.epochs=2"])
        assert layer.content == {"training": {"epochs": 2, "lr_decay": "linear"}}

    @pytest.mark.parametrize("text", ["training.epochs", "=5", "  = 5"])
    def test_what_is_no_assignment_is_refused_with_an_example(self, text: str) -> None:
        with pytest.raises(ConfigError, match=r"section\.key=value.*training\.epochs=50"):
            assignments_layer([text])

    def test_a_value_cannot_hold_keys(self) -> None:
        with pytest.raises(ConfigError, match="'training' is set"):
            assignments_layer(["training=5", "training.epochs=3"])

    def test_a_mistake_in_settings_names_them(self) -> None:
        with pytest.raises(ConfigError, match=r"^settings: .*'training.epoch'"):
            build_config([assignments_layer(["training.epoch=3"])])


class TestFiles:
    def test_a_file_is_a_layer_named_after_it(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('seed = 4\n[model]\nname = "transr"\n')
        layer = read_layer(path)
        assert layer.source == str(path)
        assert build_config([layer]).name == "transr"

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="no such config file"):
            read_layer(tmp_path / "none.toml")

    @pytest.mark.parametrize(
        ("content", "message"), [(b"seed = = 3", "is not valid TOML"), (b"\xff\xfe", "cannot be read")]
    )
    def test_a_file_that_is_no_toml(self, tmp_path: Path, content: bytes, message: str) -> None:
        path = tmp_path / "bad.toml"
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=message):
            read_layer(path)

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="cannot be read"):
            read_layer(tmp_path)


class TestToml:
    @pytest.mark.parametrize("name", list(MODELS))
    def test_settings_come_back_as_they_were(self, name: str) -> None:
        model = {"name": name, **({"dim": 7} if hasattr(MODELS[name].Config, "dim") else {})}
        config = build({"model": model, "training": {"learning_rate": 1e-7, "deterministic": True}})
        text = format_toml(config.to_dict())
        assert build_config([Layer("text", tomllib.loads(text))]) == config

    @settings(deadline=None, max_examples=60)
    @given(
        st.text(st.characters(codec="utf-8"), max_size=12),
        st.floats(min_value=0, max_value=2.0**63 - 1025),
        st.integers(0, 2**63 - 1),
    )
    def test_any_text_and_number_comes_back(self, run: str, rate: float, seed: int) -> None:
        config = build({"warm_start": {"run": run, "learning_rate": rate}, "seed": seed})
        assert build(tomllib.loads(format_toml(config.to_dict()))) == config
