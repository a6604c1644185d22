from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from contracts.cases import make_model, random_triples
from itransf.errors import ConfigError
from itransf.models import MODELS, Model, Sizes
from itransf.training import Trainer

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker


def test_a_score_is_random_in_training_alone_and_repeats_with_its_step() -> None:
    model, triples = make_model("tucker", {"dim": 4}), random_triples(9)
    model.train()
    found = []
    for seed in (0, 0, 1):
        model.noise = torch.Generator().manual_seed(seed)
        found.append(model.score(*triples).detach())
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_dropout_keeps_the_mean() -> None:
    model = make_model("tucker", {"dim": 4}).train()
    model.noise = torch.Generator().manual_seed(0)
    dropped = model.drop(torch.ones(20_000), 0.3)
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert float(dropped.mean()) == pytest.approx(1, abs=0.02)


def test_the_trainer_learns_in_training_mode_and_validates_in_evaluation_mode(
    random_graph: GraphMaker, configure: Configure
) -> None:
    graph = random_graph(entities=12, relations=2, train=30)
    config = configure("tucker", "loss.name=cross_entropy", "training.epochs=2", "validation.every=1")
    model = MODELS["tucker"](Sizes(12, 2), config.model)
    before = model.outputs.running_mean.clone()
    modes = []

    def validate(model: Model) -> float:
        modes.append(model.training)
        return 0.0

    list(Trainer(model, graph, config, validate).epochs())
    assert modes == [False, False]
    assert not model.training
    assert not torch.equal(before, model.outputs.running_mean)  # statistics of batches


def test_a_batch_updates_the_statistics_once(random_graph: GraphMaker, configure: Configure) -> None:
    graph = random_graph(entities=12, relations=2, train=30)
    config = configure("tucker", "loss.name=cross_entropy", "training.epochs=1", "training.batch_size=10")
    model: Any = MODELS["tucker"](Sizes(12, 2), config.model)
    list(Trainer(model, graph, config).epochs())
    assert int(model.outputs.num_batches_tracked) == 3


@pytest.mark.parametrize(
    "settings",
    [("loss.name=hinge",), ("loss.name=self_adversarial",), ("loss.name=cross_entropy", "loss.candidates=5")],
    ids=" ".join,
)
def test_losses_that_would_draw_a_triple_apart_from_its_rivals_are_refused(
    settings: tuple[str, ...], random_graph: GraphMaker, configure: Configure
) -> None:
    graph, config = random_graph(entities=12, relations=2, train=30), configure("tucker", *settings)
    model = MODELS["tucker"](Sizes(12, 2), config.model)
    with pytest.raises(ConfigError, match=r"tucker.*set loss\.name=cross_entropy and loss\.candidates=0"):
        Trainer(model, graph, config)


def test_candidates_that_are_all_entities_and_dropout_of_differences_are_allowed(
    random_graph: GraphMaker, configure: Configure
) -> None:
    graph = random_graph(entities=12, relations=2, train=30)
    for name, *settings in (
        ("tucker", "loss.name=cross_entropy", "loss.candidates=12"),
        ("lineare", "loss.name=cross_entropy", "loss.candidates=5", "model.dropout=0.2"),
        ("lineare", "loss.name=hinge", "model.dropout=0.2"),
    ):
        config = configure(name, *settings)
        Trainer(MODELS[name](Sizes(12, 2), config.model), graph, config)


def test_a_large_graph_is_trained_over_all_entities() -> None:
    graph: Any = SimpleNamespace(entities=range(5000), relations=range(2), train=np.zeros((50_000, 3), dtype=np.int64))
    assert MODELS["tucker"].defaults(graph, "cpu")["loss"] == {"candidates": 0}
