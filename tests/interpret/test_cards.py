from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from interpret.summands import list_summands
from itransf.errors import ConfigError
from itransf.interpret import ConceptCard, make_cards
from itransf.models import SIDES
from itransf.run import Run


@pytest.fixture(scope="module")
def run(random_graph: Callable, short: Callable) -> Run:
    found: Run = short(random_graph(entities=20, relations=4, train=90, valid=20), "itransf", "model.concepts=6")
    with torch.no_grad():
        noise = torch.randn(found.model.concepts.shape, generator=torch.Generator().manual_seed(3))
        found.model.concepts.add_(0.3 * noise)
    return found


@pytest.fixture(scope="module")
def cards(run: Run) -> list[ConceptCard]:
    return make_cards(run.model, run.graph, run.concepts(), names={1: "lies in"})


def test_every_used_concept_has_a_card_those_missed_most_first(run: Run, cards: list[ConceptCard]) -> None:
    assert {card.concept for card in cards} == set(np.flatnonzero(run.concepts().used).tolist())
    losses = [card.ablation.lost_overall for card in cards if card.ablation]
    assert losses == sorted(losses, reverse=True)


def test_users_are_the_sides_with_weight_strongest_first(run: Run, cards: list[ConceptCard]) -> None:
    weights = run.concepts().weights
    for card in cards:
        expected = {
            (f"r{relation}", side): float(weights[number, relation, card.concept])
            for number, side in enumerate(SIDES)
            for relation in range(4)
            if abs(weights[number, relation, card.concept]) >= 0.05
        }
        assert {(use.relation, use.side): use.weight for use in card.users} == expected
        assert [use.weight for use in card.users] == sorted(expected.values(), reverse=True)


def test_moved_entities_are_the_ends_of_what_the_formula_gives(run: Run, cards: list[ConceptCard]) -> None:
    statistics = run.graph.statistics
    counts = np.bincount(run.graph.train[:, [0, 2]].reshape(-1), minlength=20)
    for card in cards:
        domain = set()
        for use in card.users:
            relation = run.graph.relations.index(use.relation)
            domain |= set(statistics.domain(relation, use.side).tolist())
        matrix = run.model.concepts[card.concept].detach().numpy()
        far = {}
        for entity in domain:
            vector = run.model.entities[entity].detach().numpy()
            far[entity] = np.linalg.norm(matrix @ vector - vector) / np.linalg.norm(vector)
        assert card.movement == pytest.approx(np.mean(list(far.values())), rel=1e-4)
        known = [entity for entity in far if counts[entity] >= np.median([counts[e] for e in domain])]
        order = sorted(known, key=lambda entity: -far[entity])
        assert [moved.entity for moved in card.moved] == [f"e{e}" for e in order[: min(5, (len(order) + 1) // 2)]]
        assert [kept.entity for kept in card.kept] == [f"e{e}" for e in order[::-1][: min(5, len(order) // 2)]]


def test_the_nearest_concepts_have_the_most_similar_changes(run: Run, cards: list[ConceptCard]) -> None:
    used = np.flatnonzero(run.concepts().used).tolist()
    change = run.model.concepts.detach().numpy() - np.eye(4)
    for card in cards:
        own = change[card.concept].ravel()
        cosine = {
            other: own @ change[other].ravel() / np.linalg.norm(own) / np.linalg.norm(change[other])
            for other in used
            if other != card.concept
        }
        best = sorted(cosine, key=lambda other: -cosine[other])[:3]
        assert [near.concept for near in card.nearest] == best
        assert card.nearest[0].similarity == pytest.approx(cosine[best[0]], abs=1e-5)


def test_a_given_name_is_reported_before_the_suggestion(run: Run) -> None:
    (card,) = make_cards(run.model, run.graph, run.concepts(), [1], {1: "lies in"})
    assert (card.name, card.renamed) == ("lies in", True)
    assert card.suggestion != "lies in"
    others = make_cards(run.model, run.graph, run.concepts(), [0, 2], {1: "lies in"})
    assert [other.concept for other in others] == [0, 2]
    assert not others[0].renamed
    near = [found.name for card in others for found in card.nearest if found.concept == 1]
    assert set(near) <= {"lies in"}


def test_a_card_is_ready_for_json(cards: list[ConceptCard]) -> None:
    content = json.loads(json.dumps(cards[0].to_dict()))
    assert content["ablation"]["triples"] > 0
    assert content["users"][0]["side"] in SIDES


def test_an_unknown_concept_is_refused(run: Run) -> None:
    for number in (6, -1, "6"):
        with pytest.raises(ConfigError, match="numbered 0 to 5"):
            make_cards(run.model, run.graph, run.concepts(), [number])


@pytest.mark.parametrize(
    ("concepts", "told"),
    [
        (0, "concepts must be a list.*, not 0"),
        ("lies in", "concepts must be a list.*, not 'lies in'"),
        ([1.5], "1.5 is not a concept; .*number or .*name"),
        ([True], "True is not a concept"),
        (["lies on"], "'lies on' .*Did you mean 'lies in'"),
    ],
)
def test_other_objects_are_refused_as_concepts(run: Run, concepts: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        make_cards(run.model, run.graph, run.concepts(), concepts, {1: "lies in"})


def test_concepts_may_be_given_by_name(run: Run) -> None:
    cards = make_cards(run.model, run.graph, run.concepts(), ["lies in", np.int64(3), "0"], {1: "lies in"}, 1)
    assert [card.concept for card in cards] == [1, 3, 0]


def test_a_number_of_triples_below_zero_is_refused(run: Run, tmp_path: Path) -> None:
    told = "most_triples must be a whole number of at least 0, not -1"
    with pytest.raises(ConfigError, match=told):
        run.cards([0], most_triples=-1)
    with pytest.raises(ConfigError, match=told):
        run.report(tmp_path / "report.html", most_triples=-1)


def test_a_card_shows_itself_in_a_line(cards: list[ConceptCard]) -> None:
    card = next(card for card in cards if card.concept == 1)
    users = len(card.users) + card.lighter_users
    assert card.ablation is not None
    worth = f"worth {card.ablation.lost_overall:.3f} of validation MRR"
    assert repr(card) == f"ConceptCard(1 'lies in': {users} users, {worth})"
    assert repr(replace(card, ablation=None)) == f"ConceptCard(1 'lies in': {users} users)"


def test_a_weakly_used_concept_lists_its_strongest_users(random_graph: Callable, short: Callable) -> None:
    run = short(random_graph(), "itransf", "model.attention=dense", "model.concepts=40")
    card = make_cards(run.model, run.graph, run.concepts(), [7])[0]
    assert 0 < len(card.users) <= 5
    assert all(abs(use.weight) < 0.05 for use in card.users)
    assert card.lighter_users == 6 - len(card.users)


def test_an_unused_concept_has_an_empty_card(random_graph: Callable, short: Callable) -> None:
    run = short(random_graph(relations=1, train=20), "itransf", "model.concepts=9", "model.support_size=1")
    attention = run.concepts()
    unused = int(np.flatnonzero(~attention.used)[0])
    card = make_cards(run.model, run.graph, attention, [unused])[0]
    assert (card.name, card.users, card.moved, card.ablation, card.movement) == ("unused", (), (), None, 0.0)
    used = int(np.flatnonzero(attention.used)[0])
    assert make_cards(run.model, run.graph, attention, [used])[0].alone


@pytest.fixture(scope="module")
def sums(signed_run: Run) -> list[ConceptCard]:
    return signed_run.cards(most_triples=0)


def test_the_card_of_a_summand_tells_its_kind_and_signed_users(signed_run: Run, sums: list[ConceptCard]) -> None:
    attention = signed_run.concepts()
    assert {card.concept for card in sums} == set(np.flatnonzero(attention.used).tolist())
    for card in sums:
        assert card.symmetry == ("antisymmetric" if card.concept in attention.antisymmetric else "symmetric")
        found = {use.relation: use.weight for use in card.users}
        weights = attention.weights[0, :, card.concept]
        assert found == {f"r{number}": float(weights[number]) for number in np.flatnonzero(np.abs(weights) >= 0.05)}
        told = dict(card.describe())
        assert told["kind"].startswith(card.symmetry)
        assert "moves" not in told
        assert "(H)" not in card.suggestion
        assert {"symmetry", "raised"} <= set(json.loads(json.dumps(card.to_dict())))
    assert any(use.weight < 0 for card in sums for use in card.users)


def test_raised_triples_are_training_triples_to_whose_scores_the_concept_adds_most(
    signed_run: Run, sums: list[ConceptCard]
) -> None:
    model, train = signed_run.model, signed_run.graph.train
    added = list_summands(model, train).numpy()
    names = {(f"e{head}", f"r{relation}", f"e{tail}"): row for row, (head, relation, tail) in enumerate(train.tolist())}
    for card in sums:
        assert 0 < len(card.raised) <= 5
        rows = [names[each.head, each.relation, each.tail] for each in card.raised]
        values = [each.value for each in card.raised]
        np.testing.assert_allclose(values, added[rows, card.concept], rtol=1e-4)
        used = np.isin(train[:, 1], [int(use.relation[1:]) for use in card.users])
        assert values[0] == pytest.approx(added[used, card.concept].max(), rel=1e-4)
        assert values == sorted(values, reverse=True)
        entities = [end for each in card.raised for end in {each.head, each.tail}]
        assert len(set(entities)) == len(entities)


def test_the_nearest_vectors_are_of_the_same_kind_whatever_their_sign(signed_run: Run, sums: list[ConceptCard]) -> None:
    vectors = signed_run.model.concepts.detach()
    for card in sums:
        for near in card.nearest:
            assert signed_run.model.symmetries[near.concept] == card.symmetry
            cosine = torch.nn.functional.cosine_similarity(vectors[card.concept], vectors[near.concept], dim=0)
            assert near.similarity == pytest.approx(abs(float(cosine)), abs=1e-5)


def test_a_summand_that_is_alone_leaves_a_score_of_zero(sums: list[ConceptCard]) -> None:
    card = next(card for card in sums if card.ablation is not None)
    assert "score 0" in replace(card, alone=card.users[:1]).describe_ablation()
    assert "where they are" in replace(card, alone=card.users[:1], symmetry="").describe_ablation()  # of ILineaRE
