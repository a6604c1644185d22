from __future__ import annotations

import numpy as np
import pytest

from itransf.data.planted import (
    FAINT,
    PER_HEAD,
    RARE,
    Planted,
    close_symmetrically,
    draw_concepts,
    find_nearest,
    plant,
)
from itransf.errors import DataError


@pytest.fixture(scope="module")
def planted() -> Planted:
    return plant(seed=0)


def count_triples(planted: Planted) -> np.ndarray:
    graph = planted.graph
    triples = np.concatenate((graph.train, graph.valid, graph.test))
    return np.bincount(triples[:, 1], minlength=len(graph.relations))


def rank_by_truth(planted: Planted) -> np.ndarray:
    """Filtered ranks of the test triples, heads and tails, when the true geometry scores them."""
    known, ranks = planted.graph.known, []
    for head, relation, tail in planted.graph.test.tolist():
        heads, tails = planted.geometry.project(relation)
        for distances, answer, others in (
            (np.linalg.norm(heads[head] - tails, axis=1), tail, known.answers([head], [relation], "tail")[1]),
            (np.linalg.norm(heads - tails[tail], axis=1), head, known.answers([tail], [relation], "head")[1]),
        ):
            rivals = np.delete(distances, others)
            ranks.append(1 + int((rivals < distances[answer]).sum()))
    return np.array(ranks)


def test_default_sizes(planted: Planted) -> None:
    assert len(planted.graph.entities) == 1000
    assert len(planted.graph.relations) == 24
    assert planted.geometry.concepts.shape == (8, 6, 6)
    assert len(planted.inverse_pairs) >= 3
    assert len(planted.symmetric) >= 2
    counts = count_triples(planted)
    assert len(planted.rare) == 6
    assert np.flatnonzero(counts < RARE).tolist() == list(planted.rare)
    assert (np.delete(counts, planted.rare) >= 2 * RARE).all()


def test_train_holds_every_entity_and_relation(planted: Planted) -> None:
    train = planted.graph.train
    assert len(np.unique(train[:, (0, 2)])) == 1000
    assert len(np.unique(train[:, 1])) == 24


def test_supports_are_small_padded_and_weighted(planted: Planted) -> None:
    for supports, weights in (
        (planted.geometry.supports[0], planted.geometry.weights[0]),
        (planted.geometry.supports[1], planted.geometry.weights[1]),
    ):
        assert supports.shape == weights.shape == (24, 2)
        used = supports >= 0
        assert set(used.sum(axis=1).tolist()) == {1, 2}
        assert np.array_equal(used, weights > 0)
        assert np.allclose(weights.sum(axis=1), 1)
        assert (supports[:, 0] != supports[:, 1]).all()
    together = np.concatenate((planted.geometry.supports[0], planted.geometry.supports[1]))
    assert set(together.reshape(-1).tolist()) == {-1, *range(8)}


def test_inverse_and_symmetric_relations_mirror(planted: Planted) -> None:
    geometry = planted.geometry
    for original, inverse in planted.inverse_pairs:
        assert np.array_equal(planted.geometry.supports[0][original], planted.geometry.supports[1][inverse])
        assert np.array_equal(geometry.matrix(original, 0), geometry.matrix(inverse, 1))
        assert np.array_equal(geometry.translations[original], -geometry.translations[inverse])
    triples = {
        tuple(triple)
        for triple in np.concatenate((planted.graph.train, planted.graph.valid, planted.graph.test)).tolist()
    }
    for relation in planted.symmetric:
        assert np.array_equal(geometry.matrix(relation, 0), geometry.matrix(relation, 1))
        assert not geometry.translations[relation].any()
        own = [(h, r, t) for h, r, t in triples if r == relation]
        assert np.mean([(t, r, h) in triples for h, r, t in own]) > 0.85  # all but the noise


def test_composition_equals_the_sum_by_hand(planted: Planted) -> None:
    relation = int(np.argmax((planted.geometry.supports[0] >= 0).sum(axis=1)))
    (first, second), (left, right) = planted.geometry.supports[0][relation], planted.geometry.weights[0][relation]
    expected = left * planted.geometry.concepts[first] + right * planted.geometry.concepts[second]
    assert np.allclose(planted.geometry.matrix(relation, 0), expected)
    assert np.allclose(np.linalg.norm(planted.geometry.vectors, axis=1), 1)


@pytest.mark.parametrize("dim", [2, 5, 6])
def test_concepts_are_soft_projections_on_half_of_the_space(dim: int) -> None:
    concepts = draw_concepts(np.random.default_rng(0), 4, dim)
    for concept in concepts:
        assert np.allclose(concept, concept.T)
        values = np.linalg.eigvalsh(concept)
        assert np.allclose(values[: dim - dim // 2], FAINT * values[-1])
        assert np.allclose(values[dim - dim // 2 :], values[-1])
        assert np.isclose((concept**2).sum(), dim)
    # Whatever turns a matrix, its W'W has the mixture as its root.
    mixture = 0.4 * concepts[0] + 0.6 * concepts[1]
    turned = np.linalg.qr(np.random.default_rng(1).normal(size=(dim, dim)))[0] @ mixture
    values, vectors = np.linalg.eigh(turned.T @ turned)
    assert np.allclose(vectors * np.sqrt(values) @ vectors.T, mixture)


def test_the_true_geometry_explains_the_test_triples(planted: Planted) -> None:
    ranks = rank_by_truth(planted)
    assert np.mean(1 / ranks) > 0.8
    assert np.mean(ranks <= 10) > 0.9
    assert np.mean(ranks <= 10) < 1  # noise cannot be explained


def test_without_noise_the_truth_is_nearly_perfect_and_a_wrong_truth_is_not() -> None:
    clean = plant(seed=3, entities=300, noise=0.0)
    assert np.mean(rank_by_truth(clean) <= 10) > 0.98
    wrong = plant(seed=4, entities=300, noise=0.0)
    crossed = Planted(clean.graph, wrong.geometry, (), (), ())
    assert np.mean(rank_by_truth(crossed) <= 10) < 0.2


def test_seeds_repeat_and_differ() -> None:
    first, again, other = (plant(seed=seed, entities=60, relations=8) for seed in (5, 5, 6))
    assert np.array_equal(first.graph.train, again.graph.train)
    assert np.array_equal(first.geometry.concepts, again.geometry.concepts)
    assert not np.array_equal(first.geometry.concepts, other.geometry.concepts)


def test_support_of_one_and_few_relations() -> None:
    small = plant(seed=0, entities=RARE, relations=4, concepts=1, support_size=1, dim=2, noise=1.0)
    assert set(small.geometry.supports[0].reshape(-1).tolist()) == {0}
    assert small.rare == (3,)
    assert count_triples(small)[3] < RARE


@pytest.mark.parametrize(
    "sizes",
    [
        {"entities": 5},
        {"relations": 1},
        {"concepts": 0},
        {"support_size": 9},
        {"dim": 1},
        {"noise": 2},
        {"density": 11},
    ],
)
def test_impossible_sizes(sizes: dict[str, int]) -> None:
    with pytest.raises(DataError, match=f"cannot have {next(iter(sizes))} = "):
        plant(**sizes)  # type: ignore[arg-type]


def test_nearest_pairs_equal_a_full_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    heads, tails = rng.normal(size=(2, 40, 4))
    monkeypatch.setattr("itransf.data.planted._BLOCK", 200)  # several blocks
    pairs, distances = find_nearest(heads, tails)
    full = np.linalg.norm(heads[:, None] - tails[None], axis=2)
    np.fill_diagonal(full, np.inf)
    assert np.allclose(distances, full[pairs[:, 0], pairs[:, 1]])
    assert (np.diff(distances) >= 0).all()
    for head in range(40):
        assert set(pairs[pairs[:, 0] == head, 1].tolist()) == set(np.argsort(full[head])[:PER_HEAD].tolist())


def test_symmetric_closure_keeps_the_nearest() -> None:
    pairs = np.array([[3, 1], [1, 3], [0, 2], [4, 5]])
    assert close_symmetrically(pairs, 4, 6).tolist() == [[3, 1], [0, 2], [1, 3], [2, 0]]
