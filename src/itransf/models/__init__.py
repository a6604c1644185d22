"""The models, by name. A new one is a file beside these and a line here."""

from __future__ import annotations

from itransf.models.base import SIDES, Model, QueryModel, Side, Sizes
from itransf.models.itransf import ITransF
from itransf.models.stranse import STransE
from itransf.models.transe import TransE
from itransf.models.transr import TransR

MODELS: dict[str, type[Model]] = {
    "transe": TransE,
    "transr": TransR,
    "stranse": STransE,
    "itransf": ITransF,
}

__all__ = [
    "MODELS",
    "SIDES",
    "ITransF",
    "Model",
    "QueryModel",
    "STransE",
    "Side",
    "Sizes",
    "TransE",
    "TransR",
]
