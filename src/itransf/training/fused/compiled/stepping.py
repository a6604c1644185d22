# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""All phases of a step, and one step after the other."""

from __future__ import annotations

import numpy as np

from itransf.training.fused.compiled.arguments import compiled
from itransf.training.fused.compiled.contrasting import contrast
from itransf.training.fused.compiled.projecting import add_segments, make_matrices, project_rows, pull_rows_back
from itransf.training.fused.compiled.updating import (
    update_concepts,
    update_entities,
    update_projections,
    update_relations,
)


@compiled()
def run_steps(count, sizes, steps, entities, relations, projections, room, rates, losses):
    """Run the first `count` steps of a plan, one after the other."""
    for step in range(count):
        rate, mean_left, square_left = rates[step, 0], rates[step, 1], rates[step, 2]
        if sizes.kind == 0:
            contrast(step, sizes, steps, entities.values, True, relations.values, room.entity_gradients, room, losses)
        else:
            make_matrices(step, sizes, steps, projections, room)
            project_rows(step, sizes, steps, entities.values, room)
            contrast(step, sizes, steps, room.vectors, False, relations.values, room.gradients, room, losses)
            pull_rows_back(step, sizes, steps, entities.values, room)
            add_segments(step, sizes, steps, room)
            update_projections(step, sizes, steps, projections, room, rate, mean_left, square_left)
            if sizes.kind >= 2:
                by = rate * np.float32(sizes.matrix_lr_factor)
                update_concepts(step, sizes, steps, projections.concepts, room, by, mean_left, square_left)
        update_relations(step, sizes, steps, relations, room, rate, mean_left, square_left)
        update_entities(step, sizes, steps, entities, room, rate, mean_left, square_left)
