from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.models import MODELS, Model
from itransf.training import Trainer
from itransf.training.trainer import Average, copy_weights, load_weights, weights

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

Weights = dict[str, Tensor]

VARIED = (
    "transe",
    "itransf",
    "icomplex",
    "unstructured",
    "tucker",
    "nodelink",
)  # other parameters and buffers each


def make_trainer(graph: Graph, config: Config, seen: list[Weights] | None = None) -> Trainer:
    """Return a trainer whose looks, if it is to look at all, note the weights they see; later ones are better."""
    torch.manual_seed(config.seed)
    model = MODELS[config.name].build(graph, config.model)

    def look(model: Model) -> float:
        assert seen is not None
        seen.append(copy_weights(model))
        return float(len(seen))

    return Trainer(model, graph, config, look if seen is not None else None)


def follow(trainer: Trainer) -> list[Weights]:
    """Train and return the weights at the end of each epoch."""
    return [copy_weights(trainer.model) for _ in trainer.epochs()]


def average_by_hand(model: Model, epochs: list[Weights]) -> Weights:
    """Return the mean of the epochs' weights, summed in double precision, under the model's constraints."""
    means = {
        name: torch.stack([epoch[name].double() for epoch in epochs]).mean(0).float()
        if latest.is_floating_point()
        else latest
        for name, latest in epochs[-1].items()
    }
    kept = copy_weights(model)
    load_weights(model, means)
    model.constrain(None, None)
    found = copy_weights(model)
    load_weights(model, kept)
    return found


def check_same(found: Weights, expected: Weights) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, msg=lambda text, name=name: f"{name}: {text}")


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=20, relations=3, train=60)


class TestAverage:
    def test_numbers_are_averaged_and_whole_numbers_are_the_latest(self) -> None:
        tensors = [{"a": torch.randn(3, 2), "b": torch.tensor([place, 7])} for place in range(5)]
        average = Average()
        for each in tensors:
            average.add(each)
        torch.testing.assert_close(average.means["a"], torch.stack([each["a"] for each in tensors]).mean(0))
        assert average.means["b"].tolist() == [4, 7]
        assert average.count == 5

    def test_it_does_not_change_with_what_it_was_given(self) -> None:
        average, given = Average(), {"a": torch.ones(2), "b": torch.tensor([1])}
        average.add(given)
        given["a"].zero_()
        given["b"].zero_()
        assert (average.means["a"].tolist(), average.means["b"].tolist()) == ([1.0, 1.0], [1])

    def test_what_it_handed_out_does_not_change(self) -> None:
        average = Average()
        average.add({"a": torch.zeros(2)})
        handed_out = average.means["a"]
        average.add({"a": torch.ones(2)})
        assert (handed_out.tolist(), average.means["a"].tolist()) == ([0.0, 0.0], [0.5, 0.5])


class TestTraining:
    @pytest.mark.parametrize("name", VARIED)
    @pytest.mark.parametrize(("share", "epochs"), [(0.5, 3), (1.0, 6), (0.9, 5), (0.1, 1)])
    def test_the_last_epochs_are_averaged(
        self, configure: Configure, graph: Graph, name: str, share: float, epochs: int
    ) -> None:
        trainer = make_trainer(graph, configure(name, "training.epochs=6", f"training.weight_averaging={share}"))
        ends = follow(trainer)
        expected = average_by_hand(trainer.model, ends[-epochs:])
        trainer.restore_best()
        check_same(weights(trainer.model), expected)
        if hasattr(trainer.model.config, "entity_constraint"):
            vectors = weights(trainer.model)["entities"][:, : trainer.model.config.dim]
            torch.testing.assert_close(vectors.norm(dim=1), torch.ones(20))
        changed = [name for name, _ in trainer.model.named_parameters()]
        assert epochs == 1 or not all(torch.equal(weights(trainer.model)[name], ends[-1][name]) for name in changed)

    @pytest.mark.parametrize("name", VARIED)
    def test_looks_see_the_average_and_training_goes_on_from_the_weights(
        self, configure: Configure, graph: Graph, name: str
    ) -> None:
        settings = ("training.epochs=6", "validation.every=2", "assignment.every=2")
        seen: list[Weights] = []
        plain = follow(make_trainer(graph, configure(name, *settings), []))
        trainer = make_trainer(graph, configure(name, *settings, "training.weight_averaging=0.7"), seen)
        for end, expected in zip(follow(trainer), plain, strict=True):
            assert all(torch.equal(end[key], expected[key]) for key in expected)
        check_same(seen[0], plain[1])  # the second epoch's: the average begins with the third
        check_same(seen[1], average_by_hand(trainer.model, plain[2:4]))
        check_same(seen[2], average_by_hand(trainer.model, plain[2:6]))
        trainer.restore_best()
        check_same(weights(trainer.model), seen[2])

    def test_weights_come_back_where_a_look_fails(self, configure: Configure, graph: Graph) -> None:
        config = configure("transe", "training.epochs=3", "training.weight_averaging=1", "validation.every=3")
        plain = follow(make_trainer(graph, configure("transe", "training.epochs=3")))
        trainer = make_trainer(graph, config)

        def fail(model: Model) -> float:
            raise ZeroDivisionError

        trainer.validate = fail
        with pytest.raises(ZeroDivisionError):
            follow(trainer)
        assert torch.equal(weights(trainer.model)["entities"], plain[-1]["entities"])

    def test_without_it_the_last_weights_stay(self, configure: Configure, graph: Graph) -> None:
        trainer = make_trainer(graph, configure("stranse", "training.epochs=3"))
        last = follow(trainer)[-1]
        trainer.restore_best()
        assert trainer.average.count == 0
        assert all(torch.equal(tensor, last[name]) for name, tensor in weights(trainer.model).items())

    @pytest.mark.parametrize("more", [10, 8])  # to after the epoch where it stopped, and to just there
    def test_more_epochs_move_where_it_begins(self, configure: Configure, graph: Graph, more: int) -> None:
        short, longer = (
            configure("transe", f"training.epochs={epochs}", "training.weight_averaging=0.5") for epochs in (4, more)
        )
        first = make_trainer(graph, short)
        ends = follow(first)
        tensors, progress = first.state()
        trainer = make_trainer(graph, longer)
        trainer.load_state(tensors, {**progress, "finished": False})
        ends += follow(trainer)
        assert trainer.average.count == more // 2
        expected = average_by_hand(trainer.model, ends[more // 2 :])
        trainer.restore_best()
        check_same(weights(trainer.model), expected)
