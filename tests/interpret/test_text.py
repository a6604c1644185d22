from __future__ import annotations

import numpy as np
from rich.cells import cell_len

from golden.attentions import make_attention, make_signed_attention
from golden.comparing import check_golden
from itransf.data import Vocabulary
from itransf.interpret import Attention, format_heatmap


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
    assert "40 most frequent of 200 relations" in lines[0]


def test_rows_are_aligned_even_where_letters_are_wide() -> None:
    lines = [line for line in format_heatmap(make_wide(12, 9)).splitlines() if line.endswith(("·", "█"))]
    assert len(lines) == 24
    assert len({cell_len(line) for line in lines}) == 1


def test_names_of_concepts_are_listed_below() -> None:
    text = format_heatmap(make_attention(), {1: "city", 5: "never used"})
    assert text.endswith("\nConcepts: 1 city\n")
