"""First supports that follow what train shows of relations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from itransf.data.leakage import Structure
from itransf.models import ITransF, Sizes
from itransf.models.itransf import ITransFConfig
from itransf.training.assignment import mirror_supports

STRUCTURE = Structure(inverse=((0, 1, 0.9), (4, 5, 0.6)), symmetric=((2, 1.0),), duplicate=((1, 3, 0.7), (3, 4, 0.5)))


def make_model(start: str = "mixed", attention: str = "sparse", size: int = 2) -> ITransF:
    torch.manual_seed(0)
    config = ITransFConfig(dim=6, concepts=10, support_size=size, concept_init=start, attention=attention)  # type: ignore[arg-type]
    return ITransF(Sizes(4, 8), config)


def sides(model: ITransF, relation: int) -> tuple[list[int], list[int]]:
    return model.project_head.support[relation].tolist(), model.project_tail.support[relation].tolist()


def test_inverse_relations_have_each_others_sides() -> None:
    mirror_supports(model := make_model(), STRUCTURE, seed=0)
    assert sides(model, 1) == sides(model, 0)[::-1]
    assert sides(model, 5) == sides(model, 4)[::-1]


def test_duplicates_have_the_same_sides() -> None:
    mirror_supports(model := make_model(), STRUCTURE, seed=0)
    assert sides(model, 3) == sides(model, 1)
    assert sides(model, 7) not in (sides(model, 0), sides(model, 1))


def test_relations_tied_more_strongly_elsewhere_stay_there() -> None:
    """3 repeats 1 more than 4, and 5 mirrors 4 more than 4 repeats 3: both are tied when that comes up."""
    mirror_supports(model := make_model(), STRUCTURE, seed=0)
    assert sides(model, 4) != sides(model, 3)


def test_a_relation_that_is_free_takes_from_one_that_is_tied_whichever_comes_first() -> None:
    structure = Structure(inverse=((1, 2, 0.9), (0, 1, 0.6)), symmetric=(), duplicate=())
    mirror_supports(model := make_model(), structure, seed=0)
    assert sides(model, 0) == sides(model, 1)[::-1] == sides(model, 2)


def test_only_heads_of_symmetric_relations_reflect() -> None:
    mirror_supports(model := make_model(), STRUCTURE, seed=0)
    assert all(concept < 5 for concept in sides(model, 2)[0])  # the first half of a mixed start reflects
    others = [concept for relation in range(8) for side in sides(model, relation) for concept in side]
    assert sum(concept < 5 for concept in others) == 2


def test_without_symmetric_relations_nothing_reflects() -> None:
    mirror_supports(model := make_model(), Structure((), (), ()), seed=0)
    assert min(concept for relation in range(8) for side in sides(model, relation) for concept in side) >= 5


@pytest.mark.parametrize("start", ["identity", "reflect"])
def test_concepts_of_one_kind_are_drawn_from_all(start: str) -> None:
    model = make_model(start)
    before = sides(model, 6), sides(model, 2), sides(model, 0)
    mirror_supports(model, STRUCTURE, seed=0)
    assert (sides(model, 6), sides(model, 2), sides(model, 0)) == before
    assert sides(model, 1) == sides(model, 0)[::-1]


def test_chance_has_a_seed() -> None:
    models = [make_model() for _ in range(3)]
    for model, seed in zip(models, (1, 1, 2), strict=True):
        mirror_supports(model, STRUCTURE, seed)
    supports = [model.project_head.support for model in models]
    assert torch.equal(supports[0], supports[1])
    assert not torch.equal(supports[0], supports[2])


def test_dense_attention_has_nothing_to_choose() -> None:
    model = make_model(attention="dense")
    mirror_supports(model, STRUCTURE, seed=0)
    assert sides(model, 2)[0] == list(range(10))


def test_training_starts_from_them(number_graph: Callable, short: Callable) -> None:
    forth, back, like = 0, 1, 2
    pairs = [(int(cell) // 8, 8 + int(cell) % 8) for cell in np.random.default_rng(0).permutation(64)[:30]]
    triples = [(head, forth, tail) for head, tail in pairs] + [(tail, back, head) for head, tail in pairs]
    triples += [triple for i in range(5) for triple in ((i, like, i + 9), (i + 9, like, i))]
    settings = ("assignment.init=mirrored", "model.concepts=6", "model.concept_init=mixed")
    model = short(number_graph(triples), "itransf", *settings).model
    assert sides(model, back) == sides(model, forth)[::-1]
    reflects = model.concepts.diagonal(dim1=1, dim2=2).amin(1) < 0
    assert [bool(reflects[side].all()) for side in sides(model, like)] == [True, False]
