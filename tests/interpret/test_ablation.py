from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from itransf.evaluation import rank_triples
from itransf.interpret.ablation import Loss, measure_losses, reciprocal_ranks, sample_evenly, without_concept
from itransf.models import SIDES, ITransF
from itransf.run import Run

KINDS = ("sparse", "dense", "l1")


@pytest.fixture(scope="module", params=KINDS)
def run(request: pytest.FixtureRequest, random_graph: Callable, short: Callable) -> Run:
    found = short(random_graph(valid=20), "itransf", f"model.attention={request.param}")
    with torch.no_grad():  # weights that differ, and matrices that matter
        for side in SIDES:
            scores = found.model.concept_projection(side).scores
            scores.copy_(torch.randn(scores.shape, generator=torch.Generator().manual_seed(len(side))))
        found.model.concepts.add_(
            0.3 * torch.randn(found.model.concepts.shape, generator=torch.Generator().manual_seed(1))
        )
    return found


def test_weights_are_spread_over_the_rest_of_the_support(run: Run) -> None:
    for side in SIDES:
        projection = run.model.concept_projection(side)
        before = projection.attention().detach().clone()
        with without_concept(run.model, 2):
            after = projection.attention().detach().clone()
        expected = before.clone()
        expected[:, 2] = 0.0
        if projection.kind != "l1":
            expected /= expected.sum(dim=1, keepdim=True)
        torch.testing.assert_close(after, expected)


def test_everything_is_as_before_to_the_bit_even_after_a_failure(run: Run) -> None:
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    with pytest.raises(KeyboardInterrupt), without_concept(run.model, 1):
        raise KeyboardInterrupt
    for name, value in run.model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_side_that_uses_nothing_else_leaves_entities_where_they_are(random_graph: Callable, short: Callable) -> None:
    model = short(random_graph(), "itransf", "model.support_size=1").model
    projection = model.concept_projection("head")
    concept = int(projection.support[0, 0])
    with without_concept(model, concept):
        matrix = projection.matrices(torch.tensor([0]))[0]
    torch.testing.assert_close(matrix, torch.eye(len(matrix)))


def test_free_weights_without_any_other_leave_entities_where_they_are(random_graph: Callable, short: Callable) -> None:
    model = short(random_graph(), "itransf", "model.attention=l1").model
    with torch.no_grad():
        model.project_tail.scores.zero_()
        model.project_tail.scores[1, 3] = -0.4
    with without_concept(model, 3):
        matrix = model.project_tail.matrices(torch.tensor([1]))[0]
    torch.testing.assert_close(matrix, torch.eye(len(matrix)))


def test_relations_that_do_not_use_a_concept_change_by_exactly_nothing(random_graph: Callable, short: Callable) -> None:
    run = short(random_graph(relations=6, train=80, valid=30), "itransf", "model.concepts=9", "model.support_size=1")
    attention = run.concepts()
    concept = int(np.flatnonzero(attention.used)[0])
    users = (attention.weights[:, :, concept] != 0).any(axis=0)
    triples = run.graph.valid[~users[run.graph.valid[:, 1]]]
    assert len(triples)
    before = reciprocal_ranks(run.model, run.graph, triples)
    with without_concept(run.model, concept):
        np.testing.assert_array_equal(reciprocal_ranks(run.model, run.graph, triples), before)


def test_losses_equal_ranking_the_users_triples_twice(run: Run) -> None:
    assert isinstance(run.model, ITransF)
    users = [(0, np.array([0, 2])), (3, np.array([1]))]
    for (concept, relations), loss in zip(users, measure_losses(run.model, run.graph, users), strict=True):
        triples = run.graph.valid[np.isin(run.graph.valid[:, 1], relations)]
        means = []
        for taken in (False, True):
            if taken:
                with without_concept(run.model, concept):
                    ranks = rank_triples(run.model, triples, run.graph.known)
            else:
                ranks = rank_triples(run.model, triples, run.graph.known)
            means.append(np.mean(1 / np.concatenate([ranks.ranks(side) for side in SIDES])))
        assert loss is not None
        assert (loss.triples, loss.ranked, loss.total) == (len(triples), len(triples), 20)
        np.testing.assert_allclose([loss.mrr, loss.mrr_without], means)


def test_users_without_validation_triples_lose_nothing_that_is_known(random_graph: Callable, short: Callable) -> None:
    run = short(random_graph(valid=0), "itransf", "validation.every=0")
    assert measure_losses(run.model, run.graph, [(0, np.array([0]))]) == [None]


def test_a_sample_is_even_and_is_all_where_all_is_asked_for() -> None:
    rows = np.arange(10)
    assert sample_evenly(rows, 4).tolist() == [0, 2, 5, 7]
    assert sample_evenly(rows, 0).tolist() == sample_evenly(rows, 10).tolist() == rows.tolist()


def test_a_sample_is_ranked_and_the_rest_counted(run: Run) -> None:
    (loss,) = measure_losses(run.model, run.graph, [(0, np.arange(3))], most_triples=5)
    assert loss is not None
    assert (loss.triples, loss.ranked) == (20, 5)
    assert "20 triples, 5 of them ranked" in loss.describe()


@pytest.mark.parametrize(("after", "told"), [(0.4, "falls by 0.050"), (0.6, "rises by 0.050"), (0.5, "hardly changes")])
def test_what_is_lost_is_told(after: float, told: str) -> None:
    loss = Loss(10, 10, 20, 0.5, after)
    assert f"validation MRR {told}" in loss.describe()
    assert loss.to_dict()["lost_overall"] == pytest.approx((0.5 - after) / 2)
