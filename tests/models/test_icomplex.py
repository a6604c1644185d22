from __future__ import annotations

import pytest
import torch

from itransf.errors import ConfigError
from itransf.models import Sizes
from itransf.models.complex import ComplEx
from itransf.models.distmult import DistMultConfig
from itransf.models.icomplex import IComplEx, IComplExConfig


def make_models(concepts: int = 8, support_size: int = 8) -> tuple[ComplEx, IComplEx]:
    """Return a ComplEx of four relations, with relation 1 the inverse of 0, and 2 symmetric; and an IComplEx."""
    torch.manual_seed(0)
    full = ComplEx(Sizes(6, 4), DistMultConfig(dim=10))
    with torch.no_grad():
        full.entities.normal_()
        full.relations.normal_()
        full.relations[1, :10] = full.relations[0, :10]
        full.relations[1, 10:] = -full.relations[0, 10:]
        full.relations[2, 10:] = 0
    return full, IComplEx(Sizes(6, 4), IComplExConfig(dim=10, concepts=concepts, support_size=support_size))


def test_with_enough_concepts_it_starts_as_the_model_it_starts_from() -> None:
    full, model = make_models()
    model.start_from(full, torch.tensor([4, 3, 2, 1]))
    torch.testing.assert_close(model.relation_table(), full.relations, atol=1e-4, rtol=1e-3)
    everything = torch.arange(4)
    torch.testing.assert_close(
        model.score_tails(everything, everything), full.score_tails(everything, everything), atol=1e-3, rtol=1e-3
    )


def test_inverse_relations_turn_the_signs_of_antisymmetric_concepts() -> None:
    full, model = make_models(concepts=6, support_size=2)
    model.start_from(full, torch.tensor([4, 3, 2, 1]))
    weights = model.attention.attention().detach()
    signs = torch.tensor([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    assert model.symmetric == 3
    torch.testing.assert_close(weights[1], signs * weights[0], atol=1e-4, rtol=1e-3)
    assert weights[0].abs().sum() > 0.5
    assert weights[2, 3:].abs().max() < 1e-6  # a symmetric relation


def test_a_symmetric_concept_scores_both_directions_alike_and_an_antisymmetric_one_opposite() -> None:
    _, model = make_models(concepts=4, support_size=1)
    with torch.no_grad():
        model.entities.normal_()
        model.concepts.normal_()
        model.attention.support.copy_(torch.tensor([[0], [1], [2], [3]]))
    heads, tails = torch.tensor([0, 1, 2, 3]), torch.tensor([4, 5, 1, 0])
    relations = torch.arange(4)
    forth, back = model.score(heads, relations, tails), model.score(tails, relations, heads)
    torch.testing.assert_close(back, forth * torch.tensor([1.0, 1.0, -1.0, -1.0]))
    assert model.symmetries == ("symmetric",) * 2 + ("antisymmetric",) * 2


@pytest.mark.parametrize(("concepts", "size"), [(1, 1), (4, 0), (4, 5)])
def test_impossible_sizes_are_refused(concepts: int, size: int) -> None:
    with pytest.raises(ConfigError, match="model"):
        IComplExConfig(concepts=concepts, support_size=size)
