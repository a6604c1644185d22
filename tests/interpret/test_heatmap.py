"""The arrangement of a heat map, the order of its rows and columns, and its text form."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from golden.attentions import make_attention, make_inverse_attention, make_signed_attention
from golden.comparing import check_golden
from itransf.data import Vocabulary
from itransf.interpret import Attention, format_heatmap
from itransf.interpret.clustering import cosine_distance, order_leaves
from itransf.interpret.heatmap import arrange, order_columns


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
    assert all(words in arrangement.title for words in ("5 relations", "4 of 6 concepts", "(2 "))


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
    assert "7 most frequent of 90" in arrangement.title
    assert "11 most used of 400" in arrangement.title


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


def make_blocks(seed: int) -> tuple[npt.NDArray[np.float64], list[int]]:
    """Return shuffled rows of four kinds that have nothing in common, and their kinds."""
    generator = np.random.default_rng(seed)
    kinds = generator.permutation(np.repeat(np.arange(4), 3))
    rows = np.zeros((12, 8))
    for row, kind in enumerate(kinds):
        rows[row, 2 * kind : 2 * kind + 2] = generator.uniform(0.2, 1.0, 2)
    return rows, kinds.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_share_columns_stand_together(seed: int) -> None:
    rows, kinds = make_blocks(seed)
    ordered = [kinds[row] for row in order_leaves(cosine_distance(rows))]
    changes = sum(left != right for left, right in pairwise(ordered))
    assert changes == 3


@settings(deadline=None)
@given(st.integers(0, 9), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_an_order_holds_every_row_once(count: int, width: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(-1, 2, (count, width)).astype(float)
    assert sorted(order_leaves(cosine_distance(rows))) == list(range(count))
    assert sorted(order_columns(rows)) == list(range(width))


def test_columns_follow_the_rows() -> None:
    rows = np.array([[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]], dtype=float)
    assert order_columns(rows) == [2, 1, 0, 3]


def test_a_heat_map_as_text() -> None:
    check_golden("heatmap.txt", format_heatmap(make_attention()))


def test_a_heat_map_with_negative_weights() -> None:
    check_golden("heatmap_signed.txt", format_heatmap(make_signed_attention()))


def make_wide(relations: int, concepts: int) -> Attention:
    weights = np.zeros((2, relations, concepts), dtype=np.float32)
    for relation in range(relations):
        weights[:, relation, relation % concepts] = 1.0
    names = Vocabulary([f"关系 {number}" for number in range(relations)], kind="relation")
    supports = np.zeros((2, relations, 1), dtype=np.int64)
    return Attention(weights, names, supports, np.arange(relations))


def test_many_relations_and_concepts_stay_within_a_terminal() -> None:
    lines = format_heatmap(make_wide(200, 150)).splitlines()
    assert len(lines) < 90
    assert max(cell_len(line) for line in lines) <= 100
    assert "40 most frequent of 200" in lines[0]


def test_rows_are_aligned_even_where_letters_are_wide() -> None:
    lines = [line for line in format_heatmap(make_wide(12, 9)).splitlines() if line.endswith(("·", "█"))]
    assert len(lines) == 24
    assert len({cell_len(line) for line in lines}) == 1


def test_names_of_concepts_are_listed_below() -> None:
    text = format_heatmap(make_attention(), {1: "city", 5: "never used"})
    assert text.endswith("\nConcepts: 1 city\n")


def test_relations_with_one_part_have_one_row_and_inverse_ones_are_neighbours() -> None:
    arrangement = arrange(make_inverse_attention())
    assert sorted(arrangement.labels) == ["far", "has_part", "near", "part_of"]
    assert abs(arrangement.labels.index("has_part") - arrangement.labels.index("part_of")) == 1
    assert arrangement.signed
    assert sorted(arrangement.numbers) == ["0", "1", "2a", "3a"]


def test_antisymmetric_concepts_and_negative_weights_are_marked_in_the_text() -> None:
    text = format_heatmap(make_inverse_attention())
    lines = text.splitlines()
    assert sorted(lines[2].split()[1:]) == ["0", "1", "2", "3"]
    assert lines[3].split() == ["a", "a"]
    assert "-" in next(line for line in lines if "has_part" in line)
    assert "-" not in next(line for line in lines if "part_of" in line)
    assert "a antisymmetric" in text
    assert "(H)" not in text


def test_free_weights_without_a_negative_one_are_not_called_signed() -> None:
    attention = make_signed_attention()
    positive = arrange(replace(attention, weights=np.abs(attention.weights)))
    assert not positive.signed
    assert positive.limit == 0.5
