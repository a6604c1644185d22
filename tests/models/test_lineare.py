from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch

from contracts.cases import REFERENCES, make_model, numpy_weights, random_triples
from itransf.config import Layer, build_config
from itransf.errors import ConfigError
from itransf.fitting import warm_config
from itransf.models import MODELS, SIDES, Model
from itransf.training.trainer import Trainer, weights

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

WIDTH, SHARE = 4000, 0.3
CASES: dict[str, dict[str, Any]] = {"lineare": {}, "ilineare": {"concepts": 6, "support_size": 2}}


def make_even(name: str) -> Model:
    """Return a model in training mode: the difference vector of every triple is one everywhere, and so its length."""
    model = make_model(name, {"dim": WIDTH, "p_norm": 1, "dropout": SHARE, **CASES[name]}).train()
    with torch.no_grad():
        model.get_parameter("entities").zero_()
        model.get_parameter("relations").fill_(1.0)
    model.noise = torch.Generator().manual_seed(0)
    return model


@pytest.mark.parametrize("name", CASES)
def test_training_drops_a_share_of_the_dimensions_and_keeps_the_mean_length(name: str) -> None:
    model, triples = make_even(name), random_triples(20)
    lengths = -model.score(*triples).detach()
    kept = lengths * (1 - SHARE)
    torch.testing.assert_close(kept, kept.round())  # dimensions are kept whole, and scaled by 1 / (1 - p)
    assert (kept / WIDTH).tolist() == pytest.approx([1 - SHARE] * 20, abs=0.05)
    assert len(set(lengths.tolist())) > 10  # every triple loses dimensions of its own
    model.noise = torch.Generator().manual_seed(0)
    assert torch.equal(-model.score(*triples), lengths)
    assert (model.eval().score(*triples) == -WIDTH).all()


def test_every_negative_loses_dimensions_of_its_own() -> None:
    model, (heads, relations, tails) = make_even("lineare"), random_triples(8)
    replaces_head = torch.arange(8) % 2 == 0
    same = torch.where(replaces_head, heads, tails)[:, None]  # negatives that are the triple itself
    contrasts = model.score_contrast(heads, relations, tails, replaces_head, same)
    tables = [torch.cat([part.view(8, -1) for part in contrasts], 1)]
    for side, anchors in zip(SIDES, (tails, heads), strict=True):
        tables.append(model.score_pool(anchors, relations, side, model.pool()))
    for scores in tables:
        assert all(len(set(row)) > 1 for row in scores.tolist())
        assert (scores / WIDTH).flatten().tolist() == pytest.approx([-1.0] * scores.numel(), abs=0.1)


@pytest.mark.parametrize("name", CASES)
def test_evaluation_equals_the_naive_reference(name: str) -> None:
    model, triples = make_model(name, {"dim": 5, "dropout": 0.5, **CASES[name]}), random_triples(12)
    rows = zip(*(part.tolist() for part in triples), strict=True)
    wanted = [REFERENCES[name].score(numpy_weights(model), model.config, *row) for row in rows]
    assert model.score(*triples).tolist() == pytest.approx(wanted)
    plain = MODELS[name](model.sizes, replace(model.config, dropout=0.0)).double()
    plain.load_state_dict(model.state_dict())
    assert torch.equal(model.score_pool(*triples[:2], "tail", model.pool()), plain.score_tails(*triples[:2]))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("loss", ["hinge", "cross_entropy"])
def test_a_training_with_dropout_takes_plain_steps_on_a_cpu(
    name: str, loss: str, random_graph: GraphMaker, configure: Configure
) -> None:
    graph = random_graph(entities=12, relations=2, train=30)

    def train(share: float) -> dict[str, torch.Tensor]:
        config = configure(name, f"loss.name={loss}", f"model.dropout={share}", "training.epochs=1")
        torch.manual_seed(0)
        trainer = Trainer(MODELS[name].build(graph, config.model), graph, config)
        if share:
            assert trainer.engine is None
        list(trainer.epochs())
        return weights(trainer.model)

    once, again, without = train(0.3), train(0.3), train(0.0)
    assert all(torch.equal(once[key], again[key]) for key in once)
    assert not torch.equal(once["entities"], without["entities"])


def test_the_model_it_starts_from_has_the_same_dropout(configure: Configure) -> None:
    assert warm_config(configure("ilineare", "model.dropout=0.1")).model.dropout == 0.1


@pytest.mark.parametrize("name", CASES)
def test_dropping_everything_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"model\.dropout must be below one, not 1\.0"):
        build_config([Layer("test", {"model": {"name": name, "dropout": 1.0}})])


def test_a_score_of_its_own_counts_with_dropout_and_shared_negatives() -> None:
    class Shifted(MODELS["lineare"]):  # type: ignore[misc, valid-type]
        def score(self, heads: torch.Tensor, relations: torch.Tensor, tails: torch.Tensor) -> torch.Tensor:
            return super().score(heads, relations, tails) + 1e6

    usual = make_even("lineare")
    model = Shifted(usual.sizes, usual.config).double().train()
    model.noise = torch.Generator().manual_seed(0)
    heads, relations, tails = random_triples(3)
    owners, replaces_head = torch.arange(3), torch.tensor([True, False, True])
    positive, negative = model.score_shared(heads, relations, tails, owners, replaces_head, tails[:, None])
    assert positive.min().item() > 5e5
    assert negative.min().item() > 5e5
