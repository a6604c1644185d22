from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.attentions import make_attention, make_signed_attention
from itransf.data import Vocabulary
from itransf.errors import DataError
from itransf.interpret import Attention, concepts_behind, trace_sharing
from itransf.models import SIDES, Side


def users(attention: Attention, relation: str, side: Side, place: int = 0) -> list[tuple[str, str]]:
    return [(use.relation, use.side) for use in trace_sharing(attention, relation, side)[place].others]


def test_inverse_relations_share_a_concept_on_opposite_sides() -> None:
    shared = trace_sharing(make_attention(), "capital_of", "head")
    assert [(concept.concept, concept.weight) for concept in shared] == [(1, 1.0)]
    assert users(make_attention(), "capital_of", "head")[0] == ("has_capital", "tail")


def test_others_come_strongest_first_and_never_hold_the_side_itself() -> None:
    others = trace_sharing(make_attention(), "capital_of", "head")[0].others
    weights = [use.weight for use in others]
    assert weights == sorted(weights, reverse=True)
    assert ("capital_of", "head") not in {(use.relation, use.side) for use in others}


def test_a_symmetric_relation_shares_with_its_own_other_side() -> None:
    assert users(make_attention(), "near", "head") == [("near", "tail")]


def test_weights_not_worth_telling_are_passed_over() -> None:
    assert [concept.concept for concept in trace_sharing(make_attention(), "P37", "tail")] == [4]
    everything = trace_sharing(make_attention(), "P37", "tail", least=0.0)
    assert [concept.concept for concept in everything] == [4, 3]


def test_negative_weights_count_by_their_size() -> None:
    shared = trace_sharing(make_signed_attention(), "likes", "tail")
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


@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_sharing_equals_a_search_over_all_sides(relations: int, concepts: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    weights = generator.integers(0, 4, (2, relations, concepts)).astype(np.float32) / 4
    names = Vocabulary([f"r{number}" for number in range(relations)], kind="relation")
    supports = np.zeros((2, relations, 1), dtype=np.int64)
    attention = Attention(weights, names, supports, np.ones(relations, dtype=np.int64))
    for number, side in enumerate(SIDES):
        for shared in trace_sharing(attention, "r0", side):
            expected = {
                (f"r{other}", SIDES[place], float(weights[place, other, shared.concept]))
                for place in range(2)
                for other in range(relations)
                if weights[place, other, shared.concept] > 0 and (place, other) != (number, 0)
            }
            assert {(use.relation, use.side, use.weight) for use in shared.others} == expected


def test_names_people_gave_are_told() -> None:
    shared = trace_sharing(make_attention(), "capital_of", "tail", names={4: "state"})
    assert [concept.name for concept in shared] == ["", "state"]
    assert concepts_behind(make_attention(), "P37", names={4: "state"})["tail"][0].to_dict()["name"] == "state"
