"""The models. A new one is a file of this folder with a class of the file's name; `MODELS` finds it."""

from __future__ import annotations

from itransf.models.base import SIDES, Model, Paper, Part, QueryModel, Side, Sizes, Split, is_explainable
from itransf.models.concepts import CodedConcepts, ConceptModel, ProjectingConcepts
from itransf.models.distmult import DistMult
from itransf.models.ensemble import Ensemble
from itransf.models.icomplex import IComplEx
from itransf.models.itransf import ITransF
from itransf.models.stranse import STransE
from itransf.models.transe import TransE
from itransf.models.translation import Translation
from itransf.models.transr import TransR
from itransf.registry import MODELS

__all__ = [
    "MODELS",
    "SIDES",
    "CodedConcepts",
    "ConceptModel",
    "DistMult",
    "Ensemble",
    "IComplEx",
    "ITransF",
    "Model",
    "Paper",
    "Part",
    "ProjectingConcepts",
    "QueryModel",
    "STransE",
    "Side",
    "Sizes",
    "Split",
    "TransE",
    "TransR",
    "Translation",
    "is_explainable",
]
