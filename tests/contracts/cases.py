"""The models the contract is checked on: every registered one, in every geometry."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from itransf.models import MODELS, Model, Sizes
from itransf.training.trainer import weights

SIZES = Sizes(entities=7, relations=4)
DIM = 5
# Kinds of a model that its name alone does not tell apart.
KINDS: dict[str, list[dict[str, Any]]] = {
    "itransf": [
        {"concepts": 6, "support_size": 2, "attention": "sparse"},
        {"concepts": 6, "support_size": 2, "attention": "dense"},
        {"concepts": 6, "support_size": 2, "attention": "l1"},
    ]
}
MODEL_CASES = [
    pytest.param(name, kind, id="-".join([name, *map(str, kind.values())]))
    for name in MODELS
    for kind in KINDS.get(name, [{}])
]
CASES = [
    pytest.param(*case.values, norm, projected, id=f"{case.id}-l{norm}-{projected}")
    for case in MODEL_CASES
    for norm, projected in product((1, 2), ("unit", "ball", "none"))
]


def make_model(name: str, kind: dict[str, Any], norm: int = 1, projected: str = "unit", seed: int = 0) -> Model:
    """Return a model in float64 with random parameters, so that nothing hides behind the identity."""
    torch.manual_seed(seed)
    config = MODELS[name].Config(dim=DIM, p_norm=norm, entity_constraint="unit", projected_constraint=projected, **kind)
    model = MODELS[name](SIZES, config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.6)
    return model.eval()


def numpy_weights(model: Model) -> dict[str, npt.NDArray[Any]]:
    """Return a model's weights as arrays."""
    return {name: tensor.numpy() for name, tensor in weights(model).items()}


def random_triples(count: int, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    """Return heads, relations and tails in no order."""
    generator = torch.Generator().manual_seed(seed)
    heads, tails = torch.randint(SIZES.entities, (2, count), generator=generator)
    return heads, torch.randint(SIZES.relations, (count,), generator=generator), tails


def all_triples() -> tuple[Tensor, Tensor, Tensor]:
    """Return every possible triple."""
    cells = torch.cartesian_prod(
        torch.arange(SIZES.entities), torch.arange(SIZES.relations), torch.arange(SIZES.entities)
    )
    heads, relations, tails = cells.unbind(1)
    return heads, relations, tails
