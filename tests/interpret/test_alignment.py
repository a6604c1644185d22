from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np

from itransf.data.vocabulary import Vocabulary
from itransf.interpret import Attention, align_concepts
from itransf.interpret.sharing import match_concepts


def make_attention(weights: list[list[list[float]]], symmetries: tuple[str, ...] = ()) -> Attention:
    """Return attention with these weights (p, r, m)."""
    table = np.array(weights, dtype=np.float32)
    names = Vocabulary([f"r{number}" for number in range(table.shape[1])], kind="relation")
    parts = ("head", "tail") if len(table) > 1 else ("relation",)
    counts = np.ones(table.shape[1], dtype=np.int64)
    return Attention(table, names, np.zeros((*table.shape[:2], 1), dtype=np.int64), counts, "signed", parts, symmetries)


def random_attention(seed: int, concepts: int = 5) -> Attention:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(2, 6, concepts)) * (rng.random((2, 6, concepts)) < 0.5)
    weights[0, 0] = 0.0  # a part without concepts
    weights[:, :, 3] = 0.0  # a concept without users
    kinds = tuple("symmetric" if kind else "antisymmetric" for kind in rng.random(concepts) < 0.5)
    return make_attention(weights.tolist(), kinds)


def match_naively(left: Attention, right: Attention) -> list[float]:
    """The greedy matching, with loops over everything."""

    def share(attention: Attention, part: int, relation: int, concept: int) -> float:
        row = [abs(float(weight)) for weight in attention.weights[part, relation]]
        return row[concept] / sum(row) if sum(row) else 0.0

    places = [(part, relation) for part in range(2) for relation in range(6)]
    similarity = {}
    for i in range(left.weights.shape[2]):
        for j in range(right.weights.shape[2]):
            own = [share(left, *place, i) for place in places]
            other = [share(right, *place, j) for place in places]
            total = sum(own) + sum(other)
            both = 2 * sum(map(min, own, other))
            similarity[i, j] = both / total if total and left.symmetries[i] == right.symmetries[j] else 0.0
    found, taken = [0.0] * left.weights.shape[2], (set[int](), set[int]())
    for (i, j), value in sorted(similarity.items(), key=lambda item: -item[1]):
        if i not in taken[0] and j not in taken[1]:
            found[i] = value
            taken[0].add(i)
            taken[1].add(j)
    return found


def test_the_similarity_is_that_of_the_definition() -> None:
    for seed in range(5):
        left, right = random_attention(seed), random_attention(seed + 100, concepts=4)
        np.testing.assert_allclose(match_concepts(left, right), match_naively(left, right), atol=1e-6)


def test_neither_the_order_nor_the_sign_of_concepts_matters() -> None:
    attention = random_attention(0)
    for order in list(permutations(range(5)))[::17]:
        kinds = tuple(attention.symmetries[i] for i in order)
        turned = replace(attention, weights=-attention.weights[:, :, order], symmetries=kinds)
        wanted = attention.used.astype(float)
        np.testing.assert_allclose(match_concepts(attention, turned), wanted, atol=1e-6)


def test_a_symmetric_concept_is_not_found_as_an_antisymmetric_one() -> None:
    weights = [[[1.0, 0.0], [0.0, 1.0]]]
    left = make_attention(weights, ("symmetric", "antisymmetric"))
    right = make_attention(weights, ("symmetric", "symmetric"))
    assert match_concepts(left, right).tolist() == [1.0, 0.0]


def test_the_chosen_model_is_most_similar_and_counts_where_its_concepts_are() -> None:
    first = make_attention([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]]])
    second = make_attention([[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]])
    third = make_attention([[[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    # The first is alike the second in two concepts and the third in one; the other two share less with each other.
    assert align_concepts([third, second, first]) == (2, (2, 3, 1))
    assert align_concepts([first, first]) == (0, (2, 2, 2))
