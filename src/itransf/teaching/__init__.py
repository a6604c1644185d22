"""Teaching a trained model: new relations and entities from few triples, and concepts edited by hand."""

from __future__ import annotations

from itransf.teaching.edit import REFIT, REFIT_EPOCHS, Place, edit_concepts, refit
from itransf.teaching.entity import ENTITY_EFFORT, find_closest, learn_entity
from itransf.teaching.fit_rows import Effort
from itransf.teaching.relation import RELATION_EFFORT, learn_relation

__all__ = [
    "ENTITY_EFFORT",
    "REFIT",
    "REFIT_EPOCHS",
    "RELATION_EFFORT",
    "Effort",
    "Place",
    "edit_concepts",
    "find_closest",
    "learn_entity",
    "learn_relation",
    "refit",
]
