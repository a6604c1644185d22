"""Teaching a trained model: a new relation or entity from a handful of triples, and changes made by hand."""

from __future__ import annotations

from itransf.teaching.asking import ChangedRun, Place, change_run
from itransf.teaching.entities import find_closest, learn_entity
from itransf.teaching.refitting import REFIT_EPOCHS, refit
from itransf.teaching.relations import learn_relation
from itransf.teaching.rows import Effort

__all__ = [
    "REFIT_EPOCHS",
    "ChangedRun",
    "Effort",
    "Place",
    "change_run",
    "find_closest",
    "learn_entity",
    "learn_relation",
    "refit",
]
