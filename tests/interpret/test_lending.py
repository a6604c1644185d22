from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.attentions import make_attention, make_signed_attention
from itransf.data import Vocabulary
from itransf.interpret import Attention, build_sharing_graph
from itransf.interpret.lending import measure_lending, measure_links, share_attention

RARE = np.array([False, False, False, False, True])


def make_random(relations: int, concepts: int, seed: int) -> Attention:
    generator = np.random.default_rng(seed)
    weights = generator.integers(-2, 3, (2, relations, concepts)).astype(np.float32)
    names = Vocabulary([f"r{number}" for number in range(relations)], kind="relation")
    counts = generator.integers(0, 9, relations)
    return Attention(weights, names, np.zeros((2, relations, 1), dtype=np.int64), counts, "l1")


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_links_and_lending_equal_their_formulas_done_slowly(relations: int, concepts: int, seed: int) -> None:
    attention = make_random(relations, concepts, seed)
    a = share_attention(attention.weights)
    weights, crossed = measure_links(a)
    lent = measure_lending(a, attention.counts)
    n = attention.counts

    def common(x: np.ndarray, y: np.ndarray) -> float:
        return sum(min(x[i], y[i]) for i in range(concepts))

    for r in range(relations):
        for q in range(relations):
            straight = common(a[0, r], a[0, q]) + common(a[1, r], a[1, q])
            across = common(a[0, r], a[1, q]) + common(a[1, r], a[0, q])
            assert weights[r, q] == pytest.approx(max(straight, across) / 2)
            assert crossed[r, q] == (across > straight + 1e-9)
            expected = 0.0
            for s in range(2):
                for i in range(concepts):
                    total = sum(n[p] * (a[0, p, i] + a[1, p, i]) for p in range(relations))
                    expected += a[s, r, i] * n[q] * (a[0, q, i] + a[1, q, i]) / total / 2 if total else 0.0
            assert lent[r, q] == pytest.approx(expected)


def test_an_inverse_pair_is_linked_crosswise_as_strongly_as_can_be() -> None:
    graph = build_sharing_graph(make_attention(), RARE)
    (pair,) = [link for link in graph.links if {link.left, link.right} == {"capital_of", "has_capital"}]
    assert pair.crossed
    assert pair.weight == pytest.approx(1.0)
    assert pair.concepts == (1, 0, 4)
    assert graph.links[0] == pair


def test_what_was_lent_sums_to_one_and_donors_come_strongest_first() -> None:
    lent = measure_lending(share_attention(make_attention().weights), make_attention().counts)
    np.testing.assert_allclose(lent.sum(axis=1), 1.0)
    member = next(found for found in build_sharing_graph(make_attention(), RARE).members if found.rare)
    shares = [donor.share for donor in member.donors]
    assert shares == sorted(shares, reverse=True)
    assert member.own == pytest.approx(lent[4, 4])
    assert "P37" not in {donor.relation for donor in member.donors}
    assert member.donors[0].relation == "city_in"


def test_rare_relations_are_listed_by_how_much_they_borrow() -> None:
    graph = build_sharing_graph(make_attention(), np.array([True, False, True, False, True]))
    owns = [member.own for member in graph.rare]
    assert owns == sorted(owns)
    assert {member.relation for member in graph.rare} == {"capital_of", "has_capital", "P37"}


def test_a_part_of_the_graph_keeps_donors_from_outside() -> None:
    graph = build_sharing_graph(make_attention(), RARE).choose(["P37", "near"])
    assert [member.relation for member in graph.members] == ["near", "P37"]
    assert not graph.links
    assert graph.members[1].donors


def test_each_relation_keeps_its_strongest_links_alone() -> None:
    everything = build_sharing_graph(make_attention(), RARE)
    one = build_sharing_graph(make_attention(), RARE, links=1, donors=1)
    assert len(one.links) < len(everything.links)
    assert all(len(member.donors) <= 1 for member in one.members)


def test_signed_weights_count_by_their_size_and_all_is_ready_for_json() -> None:
    graph = build_sharing_graph(make_signed_attention(), np.array([False, True]))
    assert 0 < graph.links[0].weight < 1
    content = json.loads(json.dumps(graph.to_dict()))
    assert content["relations"][1]["donors"][0]["relation"] == "knows"
    assert content["links"][0]["left"] == "likes"
