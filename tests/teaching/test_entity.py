from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from comparing import same_but_for
from itransf.data.graph import Graph
from itransf.errors import DataError
from itransf.models import MODELS
from itransf.run import Run
from itransf.teaching import Effort, find_closest

QUICK = Effort(steps=4, rate=0.05)
MENTIONS = [("new", "r0", "e1"), ("e2", "r1", "new"), ("e3", "r1", "new")]


@pytest.fixture
def graph(random_graph: Callable[..., Graph]) -> Graph:
    return random_graph(entities=14, relations=3, train=40, valid=8, test=8).labelled({"e0": "Zero"})


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        (name, loss)
        for name in MODELS
        for loss in ("hinge", "cross_entropy")
        if hasattr(MODELS[name].Config, "dim") and (loss == "cross_entropy" or not MODELS[name].is_random)
    ],
)
def test_all_else_keeps_its_bits(short: Callable[..., Run], graph: Graph, name: str, loss: str) -> None:
    run = short(graph, name, f"loss.name={loss}", "negatives.filtered=false", "regularizer.weight=0.01")
    learned = run.learn_entity("new", MENTIONS, effort=QUICK)
    same_but_for(run, learned, {"entities"})
    if hasattr(learned.config.model, "entity_constraint"):
        vector = learned.model.get_parameter("entities")[-1, : learned.config.model.dim]
        assert torch.linalg.vector_norm(vector).item() == pytest.approx(1.0)


def test_graph_follows_and_the_entity_can_be_asked_about(short: Callable[..., Run], graph: Graph) -> None:
    learned = short(graph).learn_entity("new", MENTIONS, effort=QUICK)
    assert learned.graph.entities.names == (*graph.entities.names, "new")
    assert learned.graph.train[-3:].tolist() == [[14, 0, 1], [2, 1, 14], [3, 1, 14]]
    assert learned.predict(head="new", relation="r1", top=1)[0].head == "new"
    assert len(find_closest(learned.model, learned.graph, 14)) == 5


def test_it_starts_among_those_in_its_place_and_comes_closer(short: Callable[..., Run], graph: Graph) -> None:
    run = short(graph, "transe", "model.entity_constraint=none", "model.projected_constraint=none")
    start = run.learn_entity("new", MENTIONS[:1], effort=Effort(steps=0))
    heads = graph.statistics.domain(0, "head")
    vectors = start.model.get_parameter("entities")
    torch.testing.assert_close(vectors[14], vectors[torch.as_tensor(heads)].mean(0))
    longer = run.learn_entity("new", MENTIONS[:1], effort=Effort(steps=50, rate=0.05))
    before, after = (r.score(MENTIONS[:1])[0] for r in (start, longer))
    assert after.tail_rank <= before.tail_rank
    assert after.score > before.score


def test_a_relation_without_triples_starts_at_the_mean_of_all(
    short: Callable[..., Run], number_graph: Callable[..., Graph]
) -> None:
    graph = number_graph([(0, 0, 1), (1, 0, 2)], test=[(0, 1, 2)])
    run = short(graph, "transe", "model.entity_constraint=none", "validation.every=0")
    learned = run.learn_entity("new", [("new", "r1", "e0")], effort=Effort(steps=0))
    vectors = learned.model.get_parameter("entities")
    torch.testing.assert_close(vectors[3], vectors[:3].mean(0))


@pytest.mark.parametrize(
    ("name", "triples", "message"),
    [
        ("Zero", MENTIONS, "entity 'Zero' .*already"),
        ("new", [("e0", "r0", "e1")], "triple 1: .*'new'"),
        ("new", [("new", "r0", "e1"), ("new", "r9", "e1")], "triple 2: .*relation 'r9'"),
        ("new", [("new", "e1")], "give three names"),
        ("new", [None], "^triple 1: None .*three names"),
        ("new", [], "no triples to learn from"),
        (None, MENTIONS, "entity .*None; names are text"),
    ],
)
def test_mistakes_are_reported(
    short: Callable[..., Run], graph: Graph, name: str, triples: list[Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        short(graph).learn_entity(name, triples, effort=QUICK)
