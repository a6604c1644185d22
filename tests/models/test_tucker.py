from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from contracts.cases import make_model, random_triples
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
