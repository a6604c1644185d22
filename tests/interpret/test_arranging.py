from __future__ import annotations

import numpy as np

from golden.attentions import make_attention, make_signed_attention
from itransf.data import Vocabulary
from itransf.interpret import Attention
from itransf.interpret.arranging import arrange


def make_large(relations: int = 90, concepts: int = 400) -> Attention:
    generator = np.random.default_rng(0)
    weights = generator.dirichlet(np.ones(concepts), (2, relations)).astype(np.float32)
    names = Vocabulary([f"relation {number}" for number in range(relations)], kind="relation")
    supports = np.tile(np.arange(concepts), (2, relations, 1))
    return Attention(weights, names, supports, np.arange(relations), "dense")


def test_cells_hold_the_weights_of_their_row_and_column() -> None:
    attention = make_attention()
    arrangement = arrange(attention)
    for row, label in enumerate(arrangement.labels):
        name, letter = label.rsplit(" ", 1)
        weights = attention.weights[["(H)", "(T)"].index(letter), attention.relations.index(name)]
        np.testing.assert_array_equal(arrangement.values[row], weights[list(arrangement.concepts)])


def test_every_side_has_a_row_and_unused_concepts_no_column() -> None:
    arrangement = arrange(make_attention())
    assert len(arrangement.labels) == 10
    assert "has official language (H)" in arrangement.labels
    assert sorted(arrangement.concepts) == [0, 1, 3, 4]
    assert arrangement.title == "Attention of 5 relations over 4 of 6 concepts (2 hardly used by them)"


def test_sides_of_inverse_and_symmetric_relations_are_neighbours() -> None:
    labels = list(arrange(make_attention()).labels)
    for left, right in (
        ("capital_of (H)", "has_capital (T)"),
        ("capital_of (T)", "has_capital (H)"),
        ("near (H)", "near (T)"),
    ):
        assert abs(labels.index(left) - labels.index(right)) == 1


def test_beyond_a_limit_only_the_most_frequent_relations_and_most_used_concepts_are_shown() -> None:
    attention = make_large()
    arrangement = arrange(attention, most_relations=7, most_concepts=11)
    expected = {f"relation {number} ({letter})" for number in range(83, 90) for letter in "HT"}
    assert set(arrangement.labels) == expected
    totals = attention.weights[:, 83:].sum(axis=(0, 1))
    assert set(arrangement.concepts) == set(np.argsort(-totals)[:11].tolist())
    assert arrangement.title == (
        "Attention of the 7 most frequent of 90 relations over the 11 most used of 400 concepts"
    )


def test_softmax_weights_have_a_scale_to_one_and_free_weights_an_even_one() -> None:
    assert arrange(make_attention()).limit == 1.0
    signed = arrange(make_signed_attention())
    assert signed.signed
    assert signed.limit == 0.5


def test_an_attention_without_any_weight_has_no_columns() -> None:
    attention = make_attention()
    empty = Attention(np.zeros_like(attention.weights), attention.relations, attention.supports, attention.counts)
    arrangement = arrange(empty)
    assert arrangement.concepts == ()
    assert arrangement.limit == 1.0
