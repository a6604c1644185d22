from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from interpret.summands import list_summands
from itransf.evaluation import rank_triples
from itransf.interpret.ablation import (
    Ablation,
    mark_concept,
    measure_ablations,
    reciprocal_ranks,
    remove_concepts,
    sample_evenly,
)
from itransf.models import SIDES, ITransF, Model
from itransf.models.projection import ConceptProjection
from itransf.run import Run

KINDS = ("sparse", "dense", "l1")


@pytest.fixture(scope="module", params=KINDS)
def run(request: pytest.FixtureRequest, random_graph: Callable, short: Callable) -> Run:
    found = short(random_graph(valid=20), "itransf", f"model.attention={request.param}")
    with torch.no_grad():  # weights that differ, and matrices that matter
        for side in SIDES:
            scores = found.model.concept_attention(side).scores
            scores.copy_(torch.randn(scores.shape, generator=torch.Generator().manual_seed(len(side))))
        found.model.concepts.add_(
            0.3 * torch.randn(found.model.concepts.shape, generator=torch.Generator().manual_seed(1))
        )
    return found


def read_matrices(model: Model, side: str) -> torch.Tensor:
    """Return the matrices of one side of every relation."""
    matrices: torch.Tensor = getattr(model, f"project_{side}").matrices(torch.arange(model.sizes.relations))
    return matrices.detach()


def test_weights_are_spread_over_the_rest_of_the_support(run: Run) -> None:
    changed = remove_concepts(run.model, mark_concept(run.model, 2))
    for side in SIDES:
        projection = run.model.concept_attention(side)
        left = projection.attention().detach().clone()
        left[:, 2] = 0.0
        if projection.kind != "l1":
            left /= left.sum(dim=1, keepdim=True)
        expected = torch.einsum("rm,mij->rij", left, run.model.concepts.detach())
        torch.testing.assert_close(read_matrices(changed, side), expected)


def test_single_weights_are_removed_and_the_rest_keeps_its_sum(run: Run) -> None:
    removed = mark_concept(run.model, -1)
    weights = run.concepts().weights
    concept = int(weights[0, 1].argmax())
    removed[0, 1, concept] = True
    changed = remove_concepts(run.model, removed)
    for side in SIDES:
        before, after = read_matrices(run.model, side), read_matrices(changed, side)
        torch.testing.assert_close(after[[0, 2]], before[[0, 2]])
        assert torch.allclose(after[1], before[1]) == (side == "tail")


def test_removing_nothing_changes_no_score(run: Run) -> None:
    triples = torch.as_tensor(run.graph.train).unbind(1)
    changed = remove_concepts(run.model, mark_concept(run.model, -1))
    torch.testing.assert_close(changed.score(*triples), run.model.score(*triples))


def test_without_any_concept_entities_stay_where_they_are(run: Run) -> None:
    changed = remove_concepts(run.model, ~mark_concept(run.model, -1))
    heads, relations, tails = torch.as_tensor(run.graph.train).unbind(1)
    moved = run.model.entities[heads] + run.model.relations[relations] - run.model.entities[tails]
    torch.testing.assert_close(changed.score(heads, relations, tails), -moved.abs().sum(1))  # of unit length anyway


def test_the_model_itself_stays_as_it_is_to_the_bit(run: Run) -> None:
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    changed = remove_concepts(run.model, mark_concept(run.model, 1))
    assert changed.entities is run.model.entities
    assert isinstance(run.model.project_head, ConceptProjection)
    for name, value in run.model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_side_that_uses_nothing_else_leaves_entities_where_they_are(random_graph: Callable, short: Callable) -> None:
    model = short(random_graph(), "itransf", "model.support_size=1").model
    concept = int(model.concept_attention("head").support[0, 0])
    matrix = read_matrices(remove_concepts(model, mark_concept(model, concept)), "head")[0]
    torch.testing.assert_close(matrix, torch.eye(len(matrix)))


def test_free_weights_without_any_other_leave_entities_where_they_are(random_graph: Callable, short: Callable) -> None:
    model = short(random_graph(), "itransf", "model.attention=l1").model
    with torch.no_grad():
        model.project_tail.scores.zero_()
        model.project_tail.scores[1, 3] = -0.4
    matrix = read_matrices(remove_concepts(model, mark_concept(model, 3)), "tail")[1]
    torch.testing.assert_close(matrix, torch.eye(len(matrix)))


def test_relations_that_do_not_use_a_concept_change_by_exactly_nothing(random_graph: Callable, short: Callable) -> None:
    run = short(random_graph(relations=6, train=80, valid=30), "itransf", "model.concepts=9", "model.support_size=1")
    attention = run.concepts()
    concept = int(np.flatnonzero(attention.used)[0])
    users = (attention.weights[:, :, concept] != 0).any(axis=0)
    triples = run.graph.valid[~users[run.graph.valid[:, 1]]]
    assert len(triples)
    before = reciprocal_ranks(run.model, run.graph, triples)
    changed = remove_concepts(run.model, mark_concept(run.model, concept))
    np.testing.assert_array_equal(reciprocal_ranks(changed, run.graph, triples), before)


def test_ablations_equal_ranking_the_users_triples_twice(run: Run) -> None:
    assert isinstance(run.model, ITransF)
    users = [(0, np.array([0, 2])), (3, np.array([1]))]
    for (concept, relations), loss in zip(users, measure_ablations(run.model, run.graph, users), strict=True):
        triples = run.graph.valid[np.isin(run.graph.valid[:, 1], relations)]
        means = []
        for model in (run.model, remove_concepts(run.model, mark_concept(run.model, concept))):
            ranks = rank_triples(model, triples, run.graph.known)
            means.append(np.mean(1 / np.concatenate([ranks.ranks(side) for side in SIDES])))
        assert loss is not None
        assert (loss.triples, loss.ranked, loss.total) == (len(triples), len(triples), 20)
        np.testing.assert_allclose([loss.mrr, loss.mrr_without], means)


def test_users_without_validation_triples_lose_nothing_that_is_known(random_graph: Callable, short: Callable) -> None:
    run = short(random_graph(valid=0), "itransf", "validation.every=0")
    assert measure_ablations(run.model, run.graph, [(0, np.array([0]))]) == [None]


def test_a_sample_is_even_and_is_all_where_all_is_asked_for() -> None:
    rows = np.arange(10)
    assert sample_evenly(rows, 4).tolist() == [0, 2, 5, 7]
    assert sample_evenly(rows, 0).tolist() == sample_evenly(rows, 10).tolist() == rows.tolist()


def test_a_sample_is_ranked_and_the_rest_counted(run: Run) -> None:
    (loss,) = measure_ablations(run.model, run.graph, [(0, np.arange(3))], most_triples=5)
    assert loss is not None
    assert (loss.triples, loss.ranked) == (20, 5)
    assert "20 triples, 5 of them" in loss.describe()


@pytest.mark.parametrize(("after", "told"), [(0.4, "falls by 0.050"), (0.6, "rises by 0.050"), (0.5, "hardly changes")])
def test_the_loss_is_described(after: float, told: str) -> None:
    loss = Ablation(10, 10, 20, 0.5, after)
    assert f"validation MRR {told}" in loss.describe()
    assert loss.to_dict()["lost_overall"] == pytest.approx((0.5 - after) / 2)


def test_a_sum_of_concepts_loses_what_a_concept_adds_and_nothing_else(signed_run: Run) -> None:
    model, triples = signed_run.model, torch.as_tensor(signed_run.graph.train).unbind(1)
    added = list_summands(model, signed_run.graph.train)
    before = model.score(*triples)
    torch.testing.assert_close(added.sum(1), before)
    for concept in range(5):
        changed = remove_concepts(model, mark_concept(model, concept))
        torch.testing.assert_close(changed.score(*triples), before - added[:, concept])
        assert changed.entities is model.entities
    assert torch.equal(model.score(*triples), before)


def test_a_sum_without_any_concept_is_zero(signed_run: Run) -> None:
    changed = remove_concepts(signed_run.model, ~mark_concept(signed_run.model, -1))
    assert not changed.score_tails(torch.arange(6), torch.arange(6)).any()
    (loss,) = measure_ablations(signed_run.model, signed_run.graph, [(0, np.arange(6))])
    assert loss is not None
    assert loss.ranked == 40
