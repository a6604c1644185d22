"""The models the contract is checked on: every built-in one, with the settings that its reference lists."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from contracts.references import TRAIN
from itransf.models import MODELS, Model, Sizes, Translation
from itransf.training.trainer import weights

SIZES = Sizes(entities=7, relations=4)
REFERENCES = {
    name: import_module(f"contracts.references.{name}")
    for name in MODELS.names
    if find_spec(f"contracts.references.{name}") is not None
}
CASES = [
    pytest.param(name, case, id="-".join([name, *map(str, case.values())]))
    for name, reference in REFERENCES.items()
    for case in reference.CASES
]
TRANSLATION_CASES = [case for case in CASES if issubclass(MODELS[str(case.values[0])], Translation)]
MODEL_CASES = [pytest.param(name, reference.CASES[0], id=name) for name, reference in REFERENCES.items()]


def make_model(name: str, case: dict[str, Any], seed: int = 0) -> Model:
    """Return a model in float64 with random parameters, so that nothing hides behind an initial identity."""
    torch.manual_seed(seed)
    graph = SimpleNamespace(entities=range(SIZES.entities), relations=range(SIZES.relations), train=np.array(TRAIN))
    model: Model = MODELS[name].build(graph, MODELS[name].Config(**case)).double()
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
