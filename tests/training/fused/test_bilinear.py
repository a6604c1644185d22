"""The steps of bilinear models do what the plain ones do, on the same triples and the same candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import pytest
import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.fitting import build_model
from itransf.models.complex import ComplEx
from itransf.models.distmult import DistMult, DistMultConfig
from itransf.training.fused import bilinear
from itransf.training.fused.bilinear import BilinearEngine, fast_products, has_bilinear_steps
from itransf.training.fused.choice import make_engine
from itransf.training.trainer import Trainer, weights

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TOLERANCE = 2e-5 if DEVICE.type == "cpu" else 2e-2  # TF32 on a GPU
PLAIN = ("loss.name=cross_entropy", "negatives.filtered=false", "training.learning_rate=0.1")


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=13, relations=4, train=30, valid=4, test=4)


def run_epoch(graph: Graph, config: Config, engine: bool) -> tuple[list[float], dict[str, Tensor]]:
    """Return the losses of the batches of two epochs, and weights and states after them."""
    trainer = Trainer(build_model(graph, config, DEVICE), graph, config)
    with torch.no_grad():
        for parameter in trainer.model.parameters():
            parameter.normal_(0.0, 0.5, generator=torch.Generator(DEVICE).manual_seed(7))
    assert isinstance(trainer.engine, BilinearEngine)
    if not engine:
        trainer.engine = None
    losses: list[float] = []
    for _ in range(2):
        for batch in trainer._run_batches(trainer._shuffle()):
            losses += batch
    return losses, {**weights(trainer.model), **trainer.optimizer.state}


@pytest.mark.parametrize("name", ["distmult", "complex", "icomplex"])
@pytest.mark.parametrize(
    "settings",
    [
        ("training.optimizer=adagrad", "regularizer.weight=0"),
        ("training.optimizer=adagrad", "regularizer.weight=0.1"),
        ("training.optimizer=sgd", "regularizer.weight=0.1", "regularizer.name=l2", "loss.scale=2.0"),
        ("training.optimizer=adagrad", "regularizer.weight=0.1", "loss.relation_weight=0.5"),
        ("training.optimizer=adagrad", "regularizer.weight=0.1", "loss.candidates=6"),
        ("training.optimizer=sgd", "loss.relation_weight=0.5", "loss.candidates=6", "loss.scale=0.5"),
    ],
    ids=lambda settings: " ".join(setting.split(".")[-1] for setting in settings),
)
def test_a_step_is_the_plain_step(configure: Configure, graph: Graph, name: str, settings: tuple[str, ...]) -> None:
    config = configure(name, *PLAIN, *settings)
    plain_losses, plain = run_epoch(graph, config, engine=False)
    losses, found = run_epoch(graph, config, engine=True)
    assert losses == pytest.approx(plain_losses, rel=TOLERANCE)
    assert found.keys() == plain.keys()
    for key, tensor in plain.items():
        torch.testing.assert_close(
            found[key], tensor, atol=TOLERANCE, rtol=TOLERANCE, msg=lambda text, key=key: key + text
        )


@pytest.mark.parametrize("settings", [(), ("loss.relation_weight=0.5",), ("loss.candidates=6",)])
def test_a_weighted_step_is_the_plain_step(
    configure: Configure, graph: Graph, weigh: Callable[[Graph], Graph], settings: tuple[str, ...]
) -> None:
    config = configure("icomplex", *PLAIN, "training.optimizer=adagrad", "regularizer.weight=0.1", *settings)
    plain_losses, plain = run_epoch(weigh(graph), config, engine=False)
    losses, found = run_epoch(weigh(graph), config, engine=True)
    unweighted, _ = run_epoch(graph, config, engine=True)
    assert losses == pytest.approx(plain_losses, rel=TOLERANCE)
    assert losses != pytest.approx(unweighted, rel=0.1)
    for key, tensor in plain.items():
        torch.testing.assert_close(found[key], tensor, atol=TOLERANCE, rtol=TOLERANCE)


def test_scores_in_small_pieces_give_the_same_step(
    configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure("icomplex", *PLAIN, "training.optimizer=adagrad", "regularizer.weight=0.1")
    _, whole = run_epoch(graph, config, engine=True)
    monkeypatch.setattr(bilinear, "SCORES_AT_ONCE", {"cpu": 40, "cuda": 40})
    _, pieces = run_epoch(graph, config, engine=True)
    for key, tensor in whole.items():
        torch.testing.assert_close(pieces[key], tensor, atol=TOLERANCE, rtol=TOLERANCE)


class OtherProduct(ComplEx):
    """Inherits everything, but does not declare that the fast steps compute it."""

    Config: ClassVar[type] = DistMultConfig


class OtherFactors(DistMult):
    """Declares it, but regularizes something else."""

    Config: ClassVar[type] = DistMultConfig
    fused: ClassVar[bool] = True

    def factors(self, heads: Tensor, relations: Tensor, tails: Tensor) -> tuple[Tensor, ...]:
        return ()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("complex", "training.optimizer=adam"),
        ("complex", "negatives.filtered=true"),
        ("complex", "loss.subsampling=0.5"),
        (f"{__name__}:OtherProduct", "training.optimizer=adagrad"),
        (f"{__name__}:OtherFactors", "training.optimizer=adagrad"),
    ],
)
def test_what_has_no_fast_step_goes_the_slow_way(configure: Configure, graph: Graph, name: str, settings: str) -> None:
    config = configure(name, *PLAIN, "training.optimizer=adagrad", settings)
    trainer = Trainer(build_model(graph, config, DEVICE), graph, config)
    assert not has_bilinear_steps(trainer.model, trainer.optimizer, config)
    assert make_engine(trainer.model, trainer.objective, trainer.optimizer, config) is None


def test_the_last_of_several_trainings_restores_the_precision_of_products() -> None:
    before = torch.get_float32_matmul_precision()
    first, second = fast_products(True), fast_products(True)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert torch.get_float32_matmul_precision() == "high"
    second.__exit__(None, None, None)
    assert torch.get_float32_matmul_precision() == before
    with fast_products(False):
        assert torch.get_float32_matmul_precision() == before
