from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import itransf
from itransf.config import assignments_layer, build_config
from itransf.data.graph import Graph
from itransf.errors import ConfigError
from itransf.models import MODELS
from itransf.run import (
    choose_device,
    list_idle,
    list_rescheduled,
    read_given,
    resolve_config,
    train,
)
from itransf.run.settings import IDLE, flatten

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=12, relations=3, train=30, valid=8, test=8)


class TestResolving:
    def test_layers_rise_from_defaults_to_single_settings(self, graph: Graph, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('seed = 5\n[model]\nname = "transr"\ndim = 7\n[training]\nepochs = 2\n')
        config = resolve_config(graph, config=path, settings=["training.epochs=9"])
        assert (config.name, config.model.dim, config.seed, config.training.epochs) == ("transr", 7, 5, 9)

    def test_a_mapping_is_a_file_without_a_name(self, graph: Graph) -> None:
        assert resolve_config(graph, config={"model": {"name": "transe"}}).name == "transe"
        with pytest.raises(ConfigError, match=r"^config: .*'seeds'"):
            resolve_config(graph, config={"seeds": 3})

    def test_presets_are_taken_as_they_are_and_can_be_overridden(self, graph: Graph) -> None:
        for name in itransf.list_presets():
            plain = resolve_config(graph, preset=name)
            other = resolve_config(graph, preset=name, settings=["training.epochs=3"])
            assert other.training.epochs == 3
            assert other.loss == plain.loss

    @pytest.mark.parametrize("name", list(MODELS))
    def test_any_graph_and_model_has_defaults(self, graph: Graph, name: str) -> None:
        assert resolve_config(graph, settings=[f"model.name={name}"]).name == name

    def test_without_a_word_it_is_icomplex(self, graph: Graph) -> None:
        config = resolve_config(graph)
        assert config.name == "icomplex"
        assert config.model.support_size <= 5

    @pytest.mark.parametrize("settings", [["model.name=transq"], ["model=3"], ["model.name=3"], ["model.name=[1]"]])
    def test_mistakes_about_the_model_are_config_errors(self, graph: Graph, settings: list[str]) -> None:
        with pytest.raises(ConfigError, match="model"):
            resolve_config(graph, settings=settings)

    def test_another_runs_settings(self, graph: Graph, configure: Configure) -> None:
        config = configure("transe", "training.epochs=7")
        assert resolve_config(graph, config=config) == config

    @pytest.mark.parametrize("config", [["a"], 3])
    def test_what_no_settings_can_be_read_from(self, graph: Graph, config: Any) -> None:
        with pytest.raises(ConfigError, match=r"config is a TOML file, .*, not"):
            resolve_config(graph, config=config)

    @pytest.mark.parametrize("settings", ["training.epochs=3", {"training.epochs": 3}, [3], None])
    def test_settings_are_a_list_of_strings(self, graph: Graph, settings: Any) -> None:
        with pytest.raises(ConfigError, match=r"settings .*list of strings"):
            train(graph, settings=settings)

    def test_resuming_needs_a_folder(self, graph: Graph) -> None:
        with pytest.raises(ConfigError, match="give its folder as out"):
            train(graph, resume=True)

    def test_a_seed_beats_the_settings(self, short: Any, graph: Graph) -> None:
        assert short(graph, "transe", "seed=1", seed=7).config.seed == 7


class TestDevices:
    def test_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert choose_device("cpu").type == "cpu"
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert choose_device("auto").type == "cpu"
        with pytest.raises(ConfigError, match="no GPU"):
            choose_device("cuda")
        with pytest.raises(ConfigError, match="no device 'tpu'"):
            choose_device("tpu")

    @pytest.mark.parametrize("wanted", ["cpu", torch.device("cpu"), "auto", None])
    def test_torchs_own_and_none(self, wanted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert choose_device(wanted) == torch.device("cpu")

    @pytest.mark.parametrize("wanted", [3.5, ["cpu"], "meta", torch.device("meta")])
    def test_what_is_no_device_for_training(self, wanted: Any) -> None:
        with pytest.raises(ConfigError, match="use auto, cpu, cuda"):
            choose_device(wanted)

    def test_one_of_several(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        assert choose_device("cuda:1") == torch.device("cuda", 1)
        with pytest.raises(ConfigError, match=r"no cuda:2.* 2 GPUs"):
            choose_device("cuda:2")


def note(*settings: str) -> list[str]:
    config = build_config([assignments_layer(["model.name=itransf", "loss.name=hinge", *settings])])
    return list_idle(config, read_given(None, settings))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            ("loss.name=cross_entropy", "negatives.per_triple=8"),
            "negatives.per_triple has no effect .*loss.name is 'cross_entropy'",
        ),
        (
            ("loss.name=cross_entropy", "negatives.domain=0.001"),
            "negatives.domain .*choice of concepts .*loss.name is 'cross_entropy'",
        ),
        (
            ("loss.adversarial_temperature=2.0",),
            "loss.adversarial_temperature .* loss.name is 'hinge'",
        ),
        (
            ("loss.name=self_adversarial", "loss.scale=2.0"),
            "loss.scale .* loss.name is 'self_adversarial'",
        ),
        (
            ("model.attention=dense", "assignment.every=3"),
            "assignment.every .* model.attention is 'dense'",
        ),
        (("model.name=transe", "assignment.every=3"), "assignment.every has no effect .* model.name is 'transe'"),
        (("negatives.domain_stop=0.5",), "negatives.domain_stop .* negatives.domain is 0.0"),
        (("loss.name=cross_entropy", "negatives.domain_stop=0.5"), "negatives.domain_stop .* negatives.domain is 0.0"),
        (("negatives.tries=3",), "negatives.tries .* negatives.filtered is False"),
        (
            ("loss.name=cross_entropy", "negatives.tries=3", "negatives.filtered=true"),
            "negatives.tries .*choice of concepts .*loss.name is 'cross_entropy'",
        ),
        (("model.l1_weight=0.1",), "model.l1_weight .* model.attention is 'sparse'"),
        (
            ("warm_start.learning_rate=0.1", "warm_start.epochs=0"),
            "warm_start.learning_rate .* warm_start.epochs is 0",
        ),
    ],
)
def test_settings_without_effect_are_noted(settings: tuple[str, ...], told: str) -> None:
    (found,) = note(*settings)
    assert re.match(told, found)


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("negatives.per_triple=8", "negatives.domain=0.001", "loss.margin=2.0"),
        ("loss.name=cross_entropy", "loss.scale=2.0", "training.epochs=3"),
        ("model.attention=l1", "model.l1_weight=0.1"),
        ("negatives.tries=3", "negatives.filtered=true"),
        ("model.name=transe", "negatives.shared=true"),
        ("warm_start.learning_rate=0.1", "warm_start.epochs=5"),
    ],
)
def test_settings_with_an_effect_are_not_noted(settings: tuple[str, ...]) -> None:
    assert note(*settings) == []


def test_files_and_mappings_are_looked_at_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[loss]\nscale = 2.0\n", encoding="utf-8")
    config = build_config([assignments_layer(["loss.name=hinge"])])
    for given in (read_given(file, ["training.epochs=3", "loss.scale=1.0"]), read_given({"loss": {"scale": 2.0}}, [])):
        (told,) = list_idle(config, given)
        assert told.startswith("loss.scale ")


def test_every_rule_names_settings_that_there_are() -> None:
    known = set(flatten(build_config([assignments_layer(["model.name=itransf"])]).to_dict()))
    for (setting, _), idle in IDLE.items():
        assert known.issuperset({setting, *idle})


@pytest.mark.parametrize(
    ("settings", "moved"),
    [
        (("itransf", "training.lr_decay=linear", "assignment.every=2"), "training.lr_decay, assignment.stop"),
        (("itransf", "assignment.every=0", "training.weight_averaging=0.5"), "training.weight_averaging"),
        (("transe", "negatives.domain=0.1", "negatives.domain_stop=0.5"), "negatives.domain_stop"),
        (("itransf", "model.attention=dense"), None),
        (("stranse", "negatives.domain_stop=0.5"), None),
    ],
)
def test_what_other_epochs_move_is_reported(configure: Configure, settings: tuple[str, ...], moved: str | None) -> None:
    before, now = (configure(*settings, f"training.epochs={epochs}") for epochs in (10, 20))
    assert list_rescheduled(before, before) == []
    found = list_rescheduled(before, now)
    assert len(found) == (moved is not None)
    assert all("10 epochs and now has 20" in note and note.endswith(f"shifts {moved}") for note in found)


def test_flatten_joins_keys_with_dots() -> None:
    assert flatten({"a": {"b": {"c": 1}, "d": 2}, "e": 3}) == {"a.b.c": 1, "a.d": 2, "e": 3}
