from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from itransf.data.graph import Graph
from itransf.fitting import build_model
from itransf.models import ITransF, Model, Sizes, TransE
from itransf.run import Run
from itransf.teaching import Effort, fit_rows
from itransf.teaching.fit_rows import choose_batch, keep_last_rows, keep_relations, measure_hold, pull_back, rebuild
from itransf.training.trainer import weights

if TYPE_CHECKING:
    from conftest import Configure

PAIRS = [("e0", "e1"), ("e2", "e3"), ("e4", "e5")]
MENTIONS = [("new", "r0", "e1"), ("e2", "r1", "new")]
LOSSES = {
    "hinge": ("negatives.domain=0.5",),
    "adversarial": ("loss.name=self_adversarial",),
    "softmax": ("loss.name=cross_entropy",),
}


@pytest.fixture
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=14, relations=3, train=40, valid=8, test=8)


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("what", ["relation", "entity"])
def test_other_relations_have_no_part_in_the_fit(
    short: Callable[..., Run], graph: Graph, loss: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, effort = short(graph, "itransf", *LOSSES[loss]), Effort(steps=4)

    def learn() -> Run:
        learned = run.learn_relation("likes", PAIRS, effort=effort)
        return learned if what == "relation" else run.learn_entity("new", MENTIONS, effort=effort)

    quick = weights(learn().model)
    monkeypatch.setattr(fit_rows, "keep_relations", lambda graph, relations: graph)
    assert all(torch.equal(tensor, quick[name]) for name, tensor in weights(learn().model).items())


def test_relations_are_kept_in_their_order(graph: Graph) -> None:
    near = keep_relations(graph, np.array([2, 0, 2]))
    assert near.train.tolist() == [triple for triple in graph.train.tolist() if triple[1] != 1]
    assert near.relations is graph.relations


def test_a_row_that_is_held_fast_stays_near_its_start(short: Callable[..., Run], graph: Graph) -> None:
    run = short(graph)
    start, free, held = (
        run.learn_relation("likes", PAIRS, effort=Effort(steps, 0.05, hold=hold)).model.get_parameter("relations")[-1]
        for steps, hold in ((0, 0.0), (40, 0.0), (40, 1e3))
    )
    assert 0 < torch.dist(held, start) < 0.1 * torch.dist(free, start)


def test_the_pull_is_the_gradient_of_what_is_added() -> None:
    torch.manual_seed(0)
    table = torch.randn(5, 3)
    row = torch.randn(3, requires_grad=True)
    size = sum(float(other @ other) for other in table) / 5
    added = 0.7 * (row - table[4]).square().sum() / size
    added.backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(pull_back(row, table[4], measure_hold(table, 0.7)), row.grad)
    assert not pull_back(torch.zeros(3), torch.zeros(3), measure_hold(torch.zeros(2, 3), 1.0)).any()


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("count", [1, 2])
def test_the_last_rows_of_a_gradient_are_kept(is_sparse: bool, count: int) -> None:
    dense = torch.arange(12.0).view(4, 3)
    twice = torch.sparse_coo_tensor(torch.tensor([[3, 0, 3]]), torch.ones(3, 3), (4, 3), check_invariants=True)
    given = twice if is_sparse else dense
    kept = keep_last_rows(given, torch.full((count, 3), 0.5))
    assert kept is not None
    expected = given.to_dense().clone()
    expected[-count:] += 0.5
    expected[:-count] = 0
    assert torch.equal(kept.to_dense(), expected)
    assert kept._nnz() == count
    assert keep_last_rows(None, torch.zeros(1, 3)) is None


def test_the_regularizer_has_its_part_in_the_fit(short: Callable[..., Run], graph: Graph) -> None:
    plain, strong = (
        short(graph, "transe", "training.epochs=0", f"regularizer.weight={weight}").learn_relation("likes", PAIRS)
        for weight in (0.0, 5.0)
    )
    lengths = [float(run.model.get_parameter("relations")[-1].detach().norm()) for run in (plain, strong)]
    assert lengths[1] < 0.9 * lengths[0]


def test_a_rebuilt_model_keeps_what_overlaps(number_graph: Callable[..., Graph], configure: Callable[..., Any]) -> None:
    config = configure("itransf").model
    model = ITransF(Sizes(5, 2), config).eval()
    larger = rebuild(model, number_graph([(6, 2, 0)]), replace(config, concepts=7))
    assert (larger.sizes.entities, larger.sizes.relations, len(larger.concepts)) == (7, 3, 7)
    assert torch.equal(larger.entities[:5], model.entities)
    assert torch.equal(larger.concepts[:5], model.concepts)
    assert torch.equal(larger.project_head.scores[:2, :5], model.project_head.scores)
    assert torch.equal(larger.project_tail.support[:2], model.project_tail.support)
    smaller = rebuild(larger, number_graph([(4, 1, 0)]), config)
    assert all(torch.equal(tensor, weights(model)[name]) for name, tensor in weights(smaller).items())
    state = torch.random.get_rng_state()
    rebuild(model, number_graph([(6, 2, 0)]), config)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_batch_is_everything_or_a_sample() -> None:
    triples, generator = torch.arange(10, 20), torch.Generator().manual_seed(0)
    assert choose_batch(triples, 10, generator) is triples
    some = choose_batch(triples, 4, generator)
    assert len(set(some.tolist())) == 4
    assert set(some.tolist()) <= set(triples.tolist())


def test_no_other_model_is_drawn_while_one_is_rebuilt(
    configure: Configure, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both draw from the random state of the process."""
    config = configure("transe", "seed=1")
    alone = build_model(graph, config, torch.device("cpu"))
    others, build = list[Model](), TransE.build
    thread = threading.Thread(target=lambda: others.append(build_model(graph, config, torch.device("cpu"))))

    def start_another(graph: Graph, config: Any) -> Model:
        monkeypatch.undo()
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        return build(graph, config)

    monkeypatch.setattr(TransE, "build", start_another)
    rebuild(alone, graph, alone.config)
    thread.join()
    assert torch.equal(weights(others[0])["entities"], weights(alone)["entities"])
