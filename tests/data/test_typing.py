"""Typing against a plain reference, and on the bundled world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng

import itransf
from itransf.data import typing
from itransf.data.typing import LEAST_LIFT, PRIOR, Typing


def find_candidates(triples: list[tuple[int, int, int]], entities: int, relation: int, column: int) -> list[int]:
    """The reference: sets and loops."""
    sides: dict[int, set[tuple[int, int]]] = {entity: set() for entity in range(entities)}
    for triple in triples:
        sides[triple[0]].add((triple[1], 0))
        sides[triple[2]].add((triple[1], 2))
    asked = (relation, column)
    on_side = [entity for entity in sides if asked in sides[entity]]
    found = []
    for entity, own in sides.items():
        lifts = []
        for side in own:
            share = sum(side in other for other in sides.values()) / entities
            shared = sum(side in sides[other] for other in on_side)
            lifts.append(math.log((shared + PRIOR * share) / ((len(on_side) + PRIOR) * share)))
        if entity in on_side or not own or sum(lifts) / len(lifts) >= LEAST_LIFT:
            found.append(entity)
    return found


class Forgetful(dict[int, Any]):
    """Candidates that another thread removes as soon as they are kept."""

    def __setitem__(self, *_: Any) -> None:
        pass


def test_candidates_that_another_thread_removes_are_returned() -> None:
    triples = np.array([[0, 0, 1], [2, 1, 3], [1, 2, 2]])
    expected, emptied = Typing(triples, 4, 3), Typing(triples, 4, 3)
    emptied._found = Forgetful()
    assert emptied.candidates(1, "tail").tolist() == expected.candidates(1, "tail").tolist()


def test_few_candidates_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    triples = np.array([[0, 0, 1], [2, 1, 3], [1, 2, 2]])
    monkeypatch.setattr(typing, "MOST_KEPT", 4)
    few, all_kept = Typing(triples, 4, 3), Typing(triples, 4, 3)
    for _ in range(2):
        for relation in range(3):
            for side in ("head", "tail"):
                monkeypatch.setattr(typing, "MOST_KEPT", 4)
                found = few.candidates(relation, side).tolist()
                monkeypatch.setattr(typing, "MOST_KEPT", 100)
                assert found == all_kept.candidates(relation, side).tolist()
    assert len(few._found) < len(all_kept._found) == 6


@pytest.mark.parametrize("seed", range(5))
def test_typing_equals_its_reference(seed: int) -> None:
    draw = default_rng(seed)
    relations = draw.integers(0, 4, 60)
    heads, tails = (10 * relations + draw.integers(0, 14, 60) + shift for shift in (0, 8))  # overlapping ranges
    triples = np.stack([heads, relations, tails], axis=1)
    typing = Typing(triples, 60, 5)
    listed = [(int(h), int(r), int(t)) for h, r, t in triples]
    sizes = set()
    for relation in range(5):
        for side, column in (("head", 0), ("tail", 2)):
            expected = find_candidates(listed, 60, relation, column)
            assert typing.candidates(relation, side).tolist() == expected
            assert [entity for entity in range(60) if typing.fits(entity, relation, side)] == expected
            sizes.add(len(expected))
    for head, tail in draw.integers(0, 60, (20, 2)).tolist():
        fitting = [r for r in range(5) if typing.fits(head, r, "head") and typing.fits(tail, r, "tail")]
        assert typing.relations(head, tail).tolist() == fitting
    assert len(sizes) > 4


def test_a_country_does_not_fit_where_capitals_stand() -> None:
    graph = itransf.load("world")
    france, paris = graph.entities.index("France"), graph.entities.index("Paris")
    capital_of = graph.relations.index("capital_of")
    assert graph.typing.fits(paris, capital_of, "head")
    assert not graph.typing.fits(france, capital_of, "head")
    assert graph.typing.fits(france, capital_of, "tail")
    assert not graph.typing.fits(paris, capital_of, "tail")


def test_every_held_out_answer_of_world_fits() -> None:
    graph = itransf.load("world")
    for head, relation, tail in graph.valid.tolist():
        assert graph.typing.fits(head, relation, "head")
        assert graph.typing.fits(tail, relation, "tail")


def test_an_entity_without_triples_fits_everywhere() -> None:
    typing = Typing(np.array([[0, 0, 1]]), 3, 1)
    assert typing.fits(2, 0, "head")
    assert typing.fits(2, 0, "tail")
