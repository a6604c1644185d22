from __future__ import annotations

import numpy as np
import pytest

from itransf.experiments.bench.costs import Shape, cost_of_query, cost_of_triple, expect_relations, share_sides

SHAPE = Shape(dim=2, concepts=10, support_size=3, batch_size=4)


def test_the_cost_of_a_triple_is_the_sum_of_its_parts() -> None:
    product = 2 * 2 * 2  # a vector times a matrix: d outputs, d multiplications and additions each
    rows = 3 * (product + 2 * product)  # forward; backward to the row and to the matrix
    composing = 2 * 2 * 3 * (2 * 2) * (2 + 4) / 4  # 2 relations, 2 sides, 3 concepts of 2 x 2, shared by 4 triples
    distances = 2 * (4 * 2 + 4 * 2)
    cost = cost_of_triple(SHAPE, relations=2)
    assert cost.flops == rows + composing + distances
    assert cost.bytes == 2 * 4 * (3 * 2 + 10 * 4 / 4)  # all ten concepts are in use: 2 relations have 12 places


def test_concepts_that_are_not_in_use_are_not_moved() -> None:
    few, many = (Shape(50, m) for m in (10, 3000))
    assert cost_of_triple(few, 7).flops == cost_of_triple(many, 7).flops
    assert cost_of_triple(many, 7).bytes == cost_of_triple(Shape(50, 70), 7).bytes > cost_of_triple(few, 7).bytes


def test_the_cost_of_a_query_shares_the_projected_table() -> None:
    alone, shared = (cost_of_query(SHAPE, entities=5, share=share) for share in (1.0, 0.5))
    table = 5 * 8 + 3 * 8
    assert alone.flops == 8 + 5 * 2 * 3 + table
    assert alone.flops - shared.flops == table / 2
    assert alone.bytes == 2 * shared.bytes == 5 * 2 * 4 * 3


def test_relations_of_a_batch_are_those_of_random_batches() -> None:
    generator = np.random.default_rng(0)
    relations = generator.choice(6, size=500, p=[0.5, 0.3, 0.1, 0.05, 0.04, 0.01])
    train = np.stack([relations, relations, relations], axis=1)
    seen = [len(np.unique(generator.choice(relations, 20))) for _ in range(4000)]
    assert expect_relations(train, 20) == pytest.approx(np.mean(seen), abs=0.05)


def test_sides_are_shared_by_all_queries() -> None:
    triples = np.array([[0, 1, 2], [3, 1, 4], [5, 7, 6]])
    assert share_sides(triples) == 2 * 2 / (2 * 3)
    assert share_sides(triples[:0]) == 0
