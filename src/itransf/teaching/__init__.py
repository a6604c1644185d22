"""Teaching a trained model: new relations and entities from few triples, updates, and concepts edited by hand."""

from __future__ import annotations

from itransf.teaching.edit import REFIT, REFIT_EPOCHS, Place, edit_concepts, refit
from itransf.teaching.entity import ENTITY_EFFORT, find_closest, learn_entity
from itransf.teaching.fit_rows import Effort
from itransf.teaching.relation import RELATION_EFFORT, learn_relation
from itransf.teaching.update import UPDATE, Given, Growth, grow_graph, update_model

__all__ = [
    "ENTITY_EFFORT",
    "REFIT",
    "REFIT_EPOCHS",
    "RELATION_EFFORT",
    "UPDATE",
    "Effort",
    "Given",
    "Growth",
    "Place",
    "edit_concepts",
    "find_closest",
    "grow_graph",
    "learn_entity",
    "learn_relation",
    "refit",
    "update_model",
]
