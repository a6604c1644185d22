from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from itransf.data import Graph, Vocabulary
from itransf.data import support as module
from itransf.data.support import PRIOR, SURE, SupportIndex
from itransf.data.typing import PRIOR as TYPE_PRIOR

ENTITIES, RELATIONS = 12, 3
Triple = tuple[int, int, int]


def make_graph(seed: int) -> Graph:
    generator = np.random.default_rng(seed)
    every = np.array(list(product(range(ENTITIES), range(RELATIONS), range(ENTITIES))), dtype=np.int64)
    every = every[every[:, 0] != every[:, 2]]
    triples = every[generator.permutation(len(every))[:75]]
    entities = Vocabulary([f"e{number}" for number in range(ENTITIES)])
    relations = Vocabulary([f"r{number}" for number in range(RELATIONS)], kind="relation")
    return Graph("random", entities, relations, triples[:60], triples[60:70], triples[70:])


def find_patterns(steps: set[Triple], head: int, tail: int) -> set[tuple[int, ...]]:
    direct = {(step,) for start, step, end in steps if (start, end) == (head, tail)}
    return direct | {
        (first, second)
        for start, first, middle in steps
        for other, second, end in steps
        if start == head and middle == other and end == tail and middle != tail
    }


def count_paths(steps: set[Triple], pattern: tuple[int, ...]) -> int:
    """Count the paths of a pattern, but none that returns by the same triple."""
    first = [step for step in steps if step[1] == pattern[0]]
    if len(pattern) == 1:
        return len(first)
    second = [step for step in steps if step[1] == pattern[1]]
    return sum(a[2] == b[0] and (a[0], a[1] ^ 1) != (b[2], b[1]) for a in first for b in second)


def weigh_slowly(graph: Graph) -> dict[Triple, tuple[float, int]]:
    """Return the evidence for each triple and its number of patterns, by following every path."""
    triples = [(h, r, t) for h, r, t in np.concatenate([graph.train, graph.valid, graph.test]).tolist()]
    steps = {(h, 2 * r, t) for h, r, t in triples} | {(t, 2 * r + 1, h) for h, r, t in triples}
    found = {(h, r, t): find_patterns(steps - {(h, 2 * r, t), (t, 2 * r + 1, h)}, h, t) for h, r, t in triples}
    totals = {pattern: count_paths(steps, pattern) for pattern in set.union(*found.values())}
    weighed = {}
    for triple, patterns in found.items():
        evidence = 0.0
        for pattern in patterns:
            held = sum(pattern in found[other] for other in triples if other[1] == triple[1]) - 1
            evidence -= math.log1p(-min(held / (totals[pattern] - 1 + PRIOR), SURE))
        weighed[triple] = evidence, len(patterns)
    return weighed


def test_evidence_is_that_of_following_every_path(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = make_graph(0)
    expected = weigh_slowly(graph)
    for at_once in (1, 2**22):
        monkeypatch.setattr(module, "AT_ONCE", at_once)
        index = SupportIndex(graph)
        for relation in range(RELATIONS):
            found = index.weigh(relation)
            assert found.rows.tolist() == np.flatnonzero(graph.train[:, 1] == relation).tolist()
            for row, evidence, patterns in zip(found.rows, found.evidence, found.patterns, strict=True):
                assert (pytest.approx(evidence), patterns) == expected[tuple(graph.train[row].tolist())]


def fit_slowly(graph: Graph, row: int, side: int) -> float:
    """Return the mean log lift of the entity on a side of a training triple, from a graph without the triple."""
    others = np.delete(graph.train, row, axis=0).tolist()
    everything = graph.train.tolist()
    entity, asked = graph.train[row, 2 * side], (graph.train[row, 1], side)

    def find_sides(triples: list[list[int]], of: int) -> set[tuple[int, int]]:
        return {(r, place) for h, r, t in triples for place, end in enumerate((h, t)) if end == of}

    members = [other for other in range(ENTITIES) if other != entity and asked in find_sides(everything, other)]
    lifts = []
    for each in find_sides(others, entity):
        share = max(sum(each in find_sides(everything, other) for other in range(ENTITIES)), 1) / ENTITIES
        shared = sum(each in find_sides(everything, other) for other in members)
        certain = each == asked  # by another of its triples
        lifts.append(
            -math.log(share)
            if certain
            else math.log((shared + TYPE_PRIOR * share) / ((len(members) + TYPE_PRIOR) * share))
        )
    return sum(lifts) / len(lifts) if lifts else 0.0


def test_fits_leave_the_triple_out() -> None:
    graph = make_graph(1)
    index = SupportIndex(graph)
    for relation in range(RELATIONS):
        found = index.weigh(relation)
        for place, row in enumerate(found.rows.tolist()):
            expected = [fit_slowly(graph, row, side) for side in (0, 1)]
            assert found.fits[:, place].tolist() == pytest.approx(expected)


def test_a_relation_without_training_triples() -> None:
    graph = make_graph(0)
    added = Graph(
        "more",
        graph.entities,
        Vocabulary(["r0", "r1", "r2", "r3"], kind="relation"),
        *(graph.train, graph.valid, graph.test),
    )
    assert len(SupportIndex(added).weigh(3).rows) == 0
