from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from torch import Tensor

from itransf.config import Config
from itransf.data.graph import Graph
from itransf.models import MODELS, Model, Sizes
from itransf.training.losses import hinge
from itransf.training.negatives import make_sampler
from itransf.training.objectives import CandidateObjective, make_objective, weigh_triples

if TYPE_CHECKING:
    from conftest import Configure, GraphMaker

CPU = torch.device("cpu")
SOFTMAX = ("loss.name=cross_entropy", "loss.scale=2.5")


def make_model(graph: Graph, config: Config) -> Model:
    torch.manual_seed(0)
    model = MODELS[config.name](Sizes(len(graph.entities), len(graph.relations)), config.model).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.7)
    return model


def brute_force(
    model: Model, graph: Graph, triples: list[int], candidates: list[int], scale: float
) -> tuple[Tensor, int]:
    """Cross-entropy of each triple on both sides, other training answers left out; and how many were."""
    train = {tuple(triple) for triple in graph.train.tolist()}
    left_out, total = 0, torch.zeros((), dtype=torch.float64)
    for triple in triples:
        head, relation, tail = graph.train[triple].tolist()
        for side in ("head", "tail"):
            made = [(e, relation, tail) if side == "head" else (head, relation, e) for e in candidates]
            rivals = [other for other in made if other not in train]
            left_out += len(made) - len(rivals)
            columns = torch.tensor([(head, relation, tail), *rivals]).T
            scores = scale * model.score(*columns)
            total = total + torch.logsumexp(scores, dim=0) - scores[0]
    return total / (2 * len(triples)), left_out


def run(graph: Graph, config: Config, model: Model, triples: list[int], seed: int = 0) -> tuple[Tensor, Tensor | None]:
    train = torch.as_tensor(graph.train)
    objective = make_objective(graph, train, make_sampler(graph, config.negatives, CPU), config)
    (negatives,) = objective.draw(torch.tensor(triples), len(triples), torch.Generator().manual_seed(seed))
    return objective(model, torch.tensor(triples), negatives)


@pytest.fixture
def graph(random_graph: GraphMaker) -> Graph:
    return random_graph(entities=10, relations=3, train=60, valid=20, test=20)


def sorted_triples(graph: Graph, count: int) -> list[int]:
    return sorted(range(count), key=lambda triple: (graph.train[triple, 1], triple))


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("name", ["transe", "transr", "stranse", "itransf"])
class TestSoftmax:
    def test_over_all_entities_equals_brute_force(
        self, configure: Configure, graph: Graph, name: str, norm: int
    ) -> None:
        config = configure(name, f"model.p_norm={norm}", *SOFTMAX)
        model, triples = make_model(graph, config), sorted_triples(graph, 12)
        loss, touched = run(graph, config, model, triples)
        wanted, left_out = brute_force(model, graph, triples, list(range(10)), 2.5)
        assert left_out > 2 * len(triples)  # beside each triple itself
        torch.testing.assert_close(loss, wanted, check_dtype=False, rtol=1e-6, atol=1e-6)
        assert touched is None

    def test_over_drawn_candidates_equals_brute_force(
        self, configure: Configure, graph: Graph, name: str, norm: int
    ) -> None:
        config = configure(name, f"model.p_norm={norm}", *SOFTMAX, "loss.candidates=9")
        model, triples = make_model(graph, config), sorted_triples(graph, 12)
        drawn = torch.randint(10, (9,), generator=torch.Generator().manual_seed(4)).tolist()
        assert len(set(drawn)) < 9
        drawn = sorted(set(drawn))  # those drawn twice count once
        loss, touched = run(graph, config, model, triples, seed=4)
        wanted, left_out = brute_force(model, graph, triples, drawn, 2.5)
        assert left_out > 0
        torch.testing.assert_close(loss, wanted, check_dtype=False, rtol=1e-6, atol=1e-6)
        assert touched is not None
        assert set(touched.tolist()) == {*drawn, *graph.train[triples][:, [0, 2]].flatten().tolist()}


def test_softmax_does_not_depend_on_the_order_of_the_triples(configure: Configure, graph: Graph) -> None:
    config = configure("stranse", *SOFTMAX)
    model, triples = make_model(graph, config), sorted_triples(graph, 12)
    in_order, _ = run(graph, config, model, triples)
    mixed, _ = run(graph, config, model, [*triples[5:], *triples[:5]])
    torch.testing.assert_close(mixed, in_order)


def test_softmax_has_the_gradient_of_brute_force(configure: Configure, graph: Graph) -> None:
    config = configure("itransf", *SOFTMAX, "loss.candidates=9")
    model, triples = make_model(graph, config), sorted_triples(graph, 12)
    drawn = sorted(set(torch.randint(10, (9,), generator=torch.Generator().manual_seed(4)).tolist()))
    loss, _ = run(graph, config, model, triples, seed=4)
    wanted, _ = brute_force(model, graph, triples, drawn, 2.5)
    parameters = list(model.parameters())
    for got, right in zip(torch.autograd.grad(loss, parameters), torch.autograd.grad(wanted, parameters), strict=True):
        torch.testing.assert_close(got.to_dense(), right.to_dense(), rtol=1e-5, atol=1e-7)


def test_as_many_candidates_as_entities_are_all_entities(configure: Configure, graph: Graph) -> None:
    config = configure("transe", *SOFTMAX, "loss.candidates=10")
    everything = configure("transe", *SOFTMAX, "loss.candidates=0")
    model = make_model(graph, config)
    assert torch.equal(run(graph, config, model, [0, 1])[0], run(graph, everything, model, [0, 1])[0])


def test_a_question_whose_every_candidate_is_right_costs_nothing(
    configure: Configure, number_graph: GraphMaker
) -> None:
    complete = number_graph([(head, 0, tail) for head in range(3) for tail in range(3)])
    config = configure("transe", *SOFTMAX)
    model = make_model(complete, config)
    loss, _ = run(complete, config, model, [0, 4])
    assert float(loss.detach()) == pytest.approx(0.0, abs=1e-6)
    loss.backward()
    assert torch.isfinite(model.get_parameter("entities").grad.to_dense()).all()  # type: ignore[union-attr]


def test_contrast_equals_the_loss_on_the_same_negatives(configure: Configure, graph: Graph) -> None:
    config = configure("stranse", "loss.name=hinge", "loss.margin=2", "negatives.per_triple=3")
    model, triples = make_model(graph, config), [3, 0, 7, 11]
    loss, touched = run(graph, config, model, triples, seed=2)
    sampler = make_sampler(graph, config.negatives, CPU)
    corruption = sampler.corrupt(torch.tensor(triples), 3, torch.Generator().manual_seed(2))
    total = 0.0
    for triple, is_head, row in zip(triples, *(part.tolist() for part in corruption), strict=True):
        head, relation, tail = graph.train[triple].tolist()
        made = [(e, relation, tail) if is_head else (head, relation, e) for e in row]
        scores = model.score(*torch.tensor([(head, relation, tail), *made]).T).tolist()
        total += sum(max(0.0, 2.0 - scores[0] + other) for other in scores[1:]) / 3
    assert float(loss.detach()) == pytest.approx(total / 4)
    assert touched is None  # 4 + 4 + 12 rows are more than there are entities


def test_shared_copies_that_are_left_out_cost_nothing(configure: Configure, graph: Graph) -> None:
    settings = ("loss.name=hinge", "loss.margin=2", "negatives.per_triple=3", "negatives.shared=true")
    config = configure("stranse", *settings)
    model = make_model(graph, config)
    triples = sorted([3, 0, 7, 11], key=lambda triple: graph.train[triple, 1])
    loss, _ = run(graph, config, model, triples, seed=2)
    sampler = make_sampler(graph, config.negatives, CPU)
    shared = sampler.corrupt_together(torch.tensor(triples), 3, 4, torch.Generator().manual_seed(2))
    columns = torch.as_tensor(graph.train)[triples].unbind(1)
    own = shared.replaces_head[shared.owners], shared.replacements[shared.owners]
    positive, negative = model.score_contrast(*columns, *own)
    short = (2.0 - positive[:, None] + negative).clamp_min(0) * ~shared.masked
    assert float(loss.detach()) == pytest.approx(float(short.detach().mean()))


def test_contrast_names_the_entities_it_touches(configure: Configure, random_graph: GraphMaker) -> None:
    graph = random_graph(entities=100, relations=2, train=60)
    config = configure("transe", "negatives.per_triple=2")
    _, touched = run(graph, config, make_model(graph, config), [5, 6], seed=1)
    corruption = make_sampler(graph, config.negatives, CPU).corrupt(
        torch.tensor([5, 6]), 2, torch.Generator().manual_seed(1)
    )
    assert touched is not None
    own = graph.train[[5, 6]][:, [0, 2]].flatten().tolist()
    assert set(touched.tolist()) == {*own, *corruption.replacements.flatten().tolist()}


def test_the_contrast_is_the_mean_over_triples(configure: Configure, graph: Graph) -> None:
    config = configure("transe", "loss.margin=1.5")
    model, triples = make_model(graph, config), [1, 2, 3]
    loss, _ = run(graph, config, model, triples, seed=6)
    corruption = make_sampler(graph, config.negatives, CPU).corrupt(
        torch.tensor(triples), 1, torch.Generator().manual_seed(6)
    )
    columns = torch.as_tensor(graph.train)[triples].unbind(1)
    wanted = hinge(*model.score_contrast(*columns, *corruption), config.loss)
    assert float(loss.detach()) == pytest.approx(float(wanted.detach().sum()) / 3)
    assert math.isfinite(float(loss.detach()))


def test_softmax_needs_no_negatives(configure: Configure, graph: Graph) -> None:
    config = configure("transe", *SOFTMAX)
    train = torch.as_tensor(graph.train)
    sampler = make_sampler(graph, config.negatives, CPU)
    assert isinstance(make_objective(graph, train, sampler, config), CandidateObjective)


def test_triples_with_frequent_pairs_weigh_less(configure: Configure, graph: Graph) -> None:
    config = configure("transe", *SOFTMAX, "loss.subsampling=0.5")
    model, train = make_model(graph, config), graph.train.tolist()
    weights = []
    for head, relation, tail in train[:12]:
        tails = sum((h, r) == (head, relation) for h, r, _ in train)
        heads = sum((r, t) == (relation, tail) for _, r, t in train)
        weights.append((tails + heads + 6) ** -0.5)
    torch.testing.assert_close(weigh_triples(torch.tensor(graph.train), 0.5)[:12], torch.tensor(weights))
    losses = [run(graph, config, model, [number])[0].item() for number in range(12)]
    mean = sum(w * part for w, part in zip(weights, losses, strict=True)) / sum(weights)
    assert run(graph, config, model, list(range(12)))[0].item() == pytest.approx(mean, rel=1e-5)
    assert mean != pytest.approx(sum(losses) / 12, rel=1e-4)


@pytest.mark.parametrize("loss", [(), SOFTMAX, (*SOFTMAX, "negatives.filtered=false", "loss.relation_weight=0.5")])
def test_weights_scale_the_loss_of_a_triple(
    configure: Configure, graph: Graph, weigh: Callable[[Graph], Graph], loss: tuple[str, ...]
) -> None:
    config = configure("complex" if "loss.relation_weight=0.5" in loss else "transe", *loss)
    heavy = weigh(graph)
    assert heavy.weights is not None
    factors = heavy.weights.values[: len(graph.train)]
    factors = factors / factors.mean()
    model, whole = make_model(graph, config), list(range(len(graph.train)))
    for triples in ([7], [3], whole):
        train = torch.as_tensor(graph.train)
        objective = make_objective(graph, train, make_sampler(graph, config.negatives, CPU), config)
        (drawn,) = objective.draw(torch.tensor(triples), len(triples), torch.Generator().manual_seed(0))
        parts = torch.split(torch.tensor(triples), 1)
        each = [drawn] if len(triples) == 1 else drawn.split(1) if drawn is not None else [None] * len(triples)
        losses = [float(objective(model, part, own)[0].detach()) for part, own in zip(parts, each, strict=True)]
        found, _ = run(heavy, config, model, triples)
        assert float(found.detach()) == pytest.approx(np.mean(factors[triples] * losses), rel=1e-5)
