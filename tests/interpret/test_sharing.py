from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from golden.attentions import make_attention, make_inverse_attention, make_signed_attention
from itransf.data import Vocabulary
from itransf.errors import DataError
from itransf.interpret import Attention, build_sharing_graph, concepts_behind, sharing
from itransf.interpret.naming import LEAST_WEIGHT
from itransf.interpret.sharing import find_shares, find_transfer, measure_links
from itransf.models import SIDES, Side


def users(attention: Attention, relation: str, side: Side, place: int = 0) -> list[tuple[str, str]]:
    return [(use.relation, use.side) for use in concepts_behind(attention, relation)[side][place].others]


def test_inverse_relations_share_a_concept_on_opposite_sides() -> None:
    shared = concepts_behind(make_attention(), "capital_of")["head"]
    assert [(concept.concept, concept.weight) for concept in shared] == [(1, 1.0)]
    assert users(make_attention(), "capital_of", "head")[0] == ("has_capital", "tail")


def test_others_come_strongest_first_and_never_hold_the_side_itself() -> None:
    others = concepts_behind(make_attention(), "capital_of")["head"][0].others
    weights = [use.weight for use in others]
    assert weights == sorted(weights, reverse=True)
    assert ("capital_of", "head") not in {(use.relation, use.side) for use in others}


def test_a_symmetric_relation_shares_with_its_own_other_side() -> None:
    assert users(make_attention(), "near", "head") == [("near", "tail")]


def test_small_weights_are_left_out() -> None:
    assert [concept.concept for concept in concepts_behind(make_attention(), "P37")["tail"]] == [4]
    assert [use.concept for use in make_attention().row("P37", "tail")] == [4, 3]


def test_negative_weights_count_by_their_size() -> None:
    shared = concepts_behind(make_signed_attention(), "likes")["tail"]
    assert [concept.concept for concept in shared] == [0]
    assert shared[0].weight == -0.5
    assert [use.weight for use in shared[0].others] == [0.5, pytest.approx(0.1)]


def test_concepts_behind_tells_both_sides_and_takes_labels() -> None:
    behind = concepts_behind(make_attention(), "has official language")
    assert list(behind) == ["head", "tail"]
    assert [concept.concept for concept in behind["head"]] == [0]
    assert behind["head"][0].others[0].label == "city_in"
    json.dumps([concept.to_dict() for concept in behind["tail"]])


def test_an_unknown_relation_is_refused() -> None:
    with pytest.raises(DataError, match="unknown relation"):
        concepts_behind(make_attention(), "sings")


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_sharing_equals_a_search_over_all_sides(relations: int, concepts: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = generator.integers(0, 4, (2, relations, concepts)).astype(np.float32) / 4
    names = Vocabulary([f"r{number}" for number in range(relations)], kind="relation")
    supports = np.zeros((2, relations, 1), dtype=np.int64)
    attention = Attention(weights, names, supports, np.ones(relations, dtype=np.int64))
    for number, side in enumerate(SIDES):
        for shared in concepts_behind(attention, "r0")[side]:
            expected = {
                (f"r{other}", SIDES[place], float(weights[place, other, shared.concept]))
                for place in range(2)
                for other in range(relations)
                if weights[place, other, shared.concept] > 0 and (place, other) != (number, 0)
            }
            assert {(use.relation, use.side, use.weight) for use in shared.others} == expected


def test_names_are_given_or_suggested() -> None:
    shared = concepts_behind(make_attention(), "capital_of", {4: "state"})["tail"]
    assert [concept.name for concept in shared] == ["has official language (H) + city_in (T)", "state"]
    assert concepts_behind(make_attention(), "P37", names={4: "state"})["tail"][0].to_dict()["name"] == "state"


RARE = np.array([False, False, False, False, True])


def make_random(relations: int, concepts: int, seed: int) -> Attention:
    generator = np.random.default_rng(seed)
    weights = generator.integers(-2, 3, (2, relations, concepts)).astype(np.float32)
    names = Vocabulary([f"r{number}" for number in range(relations)], kind="relation")
    counts = generator.integers(0, 9, relations)
    return Attention(weights, names, np.zeros((2, relations, 1), dtype=np.int64), counts, "l1")


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_links_and_transfer_equal_their_formulas_done_slowly(relations: int, concepts: int, seed: int) -> None:
    attention = make_random(relations, concepts, seed)
    a = find_shares(attention.weights)
    weights, crossed = measure_links(a)
    transfer = find_transfer(a, attention.counts)
    n = attention.counts

    def common(x: np.ndarray, y: np.ndarray) -> float:
        return sum(min(x[i], y[i]) for i in range(concepts))

    for r in range(relations):
        for q in range(relations):
            straight = common(a[0, r], a[0, q]) + common(a[1, r], a[1, q])
            across = common(a[0, r], a[1, q]) + common(a[1, r], a[0, q])
            assert weights[r, q] == pytest.approx(max(straight, across) / 2)
            lead = (across - straight) / 2
            assert crossed[r, q] == (lead >= LEAST_WEIGHT) or lead == pytest.approx(LEAST_WEIGHT)
            expected = 0.0
            for s in range(2):
                for i in range(concepts):
                    total = sum(n[p] * (a[0, p, i] + a[1, p, i]) for p in range(relations))
                    expected += a[s, r, i] * n[q] * (a[0, q, i] + a[1, q, i]) / total / 2 if total else 0.0
            assert transfer[r, q] == pytest.approx(expected)


def test_an_inverse_pair_is_linked_crosswise_as_strongly_as_can_be() -> None:
    graph = build_sharing_graph(make_attention(), RARE)
    (pair,) = [link for link in graph.links if {link.left, link.right} == {"capital_of", "has_capital"}]
    assert pair.crossed
    assert pair.weight == pytest.approx(1.0)
    assert pair.concepts == (1, 0, 4)
    assert graph.links[0] == pair


def test_transfer_sums_to_one_and_donors_come_strongest_first() -> None:
    transfer = find_transfer(find_shares(make_attention().weights), make_attention().counts)
    np.testing.assert_allclose(transfer.sum(axis=1), 1.0)
    member = next(found for found in build_sharing_graph(make_attention(), RARE).members if found.rare)
    shares = [donor.share for donor in member.donors]
    assert shares == sorted(shares, reverse=True)
    assert member.own == pytest.approx(transfer[4, 4])
    assert "P37" not in {donor.relation for donor in member.donors}
    assert member.donors[0].relation == "city_in"


def test_rare_relations_are_listed_by_how_much_they_learned_from_others() -> None:
    graph = build_sharing_graph(make_attention(), np.array([True, False, True, False, True]))
    owns = [member.own for member in graph.rare]
    assert owns == sorted(owns)
    assert {member.relation for member in graph.rare} == {"capital_of", "has_capital", "P37"}


def test_a_part_of_the_graph_keeps_donors_from_outside() -> None:
    graph = build_sharing_graph(make_attention(), RARE).choose(["P37", "near"])
    assert [member.relation for member in graph.members] == ["near", "P37"]
    assert not graph.links
    assert graph.members[1].donors


def test_each_relation_keeps_its_strongest_links_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = build_sharing_graph(make_attention(), RARE)
    monkeypatch.setattr(sharing, "LINKS", 1)
    monkeypatch.setattr(sharing, "DONORS", 1)
    one = build_sharing_graph(make_attention(), RARE)
    assert len(one.links) < len(everything.links)
    assert all(len(member.donors) <= 1 for member in one.members)


def test_signed_weights_count_by_their_size_and_all_is_ready_for_json() -> None:
    graph = build_sharing_graph(make_signed_attention(), np.array([False, True]))
    assert 0 < graph.links[0].weight < 1
    content = json.loads(json.dumps(graph.to_dict()))
    assert content["relations"][1]["donors"][0]["relation"] == "knows"
    assert content["links"][0]["left"] == "likes"


def test_relations_with_opposite_antisymmetric_concepts_are_linked_crosswise() -> None:
    attention = make_inverse_attention()
    signed = find_shares(attention.weights) * np.sign(attention.weights)
    weights, crossed = measure_links(signed, attention.antisymmetric)
    expected = [[1, 1, 0.25, 0], [1, 1, 0.25, 0], [0.25, 0.25, 1, 0], [0, 0, 0, 1]]
    np.testing.assert_allclose(weights, expected)
    assert np.argwhere(crossed).tolist() == [[0, 1], [1, 0]]
    graph = build_sharing_graph(attention, np.array([False, False, False, True]))
    assert (graph.links[0].left, graph.links[0].right, graph.links[0].concepts) == ("part_of", "has_part", (0, 2))


def test_users_of_a_model_without_sides_have_plain_names_and_signed_weights() -> None:
    (behind,) = concepts_behind(make_inverse_attention(), "part_of").values()
    assert [(use.name, use.weight) for use in behind[1].others] == [("has_part", -0.5)]
    shares = find_shares(make_inverse_attention().weights)
    np.testing.assert_allclose(find_transfer(shares, make_inverse_attention().counts).sum(axis=1), 1.0)
