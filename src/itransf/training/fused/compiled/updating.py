# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""Changing matrices, scores, concepts and vectors; each iteration owns the rows it changes."""

from __future__ import annotations

import numpy as np
from numba import prange

from itransf.training.fused.compiled.arguments import compiled
from itransf.training.fused.compiled.arithmetic import add_scaled, change, change_row, dot, measure_length


@compiled(parallel=True)
def update_projections(step, sizes, steps, projections, room, rate, mean_left, square_left):
    """Change every slot's own matrix, its attention scores, or its free weights under their penalty."""
    slots, kind, optimizer, temperature = sizes.slots, sizes.kind, sizes.optimizer, np.float32(sizes.temperature)
    penalty, offsets = np.float32(sizes.weight_penalty / steps.sizes[step, 0]), steps.slot_offsets[step]
    matrix_lr_factor = rate * np.float32(sizes.matrix_lr_factor)
    slot_relations, firsts, totals = steps.slot_relations[step], steps.segment_offsets[step], room.matrix_gradients
    head, head_first, head_second = projections.head
    tail, tail_first, tail_second = projections.tail
    head_support, tail_support = projections.head_support, projections.tail_support
    concepts, attention = projections.concepts.values, room.attention
    for group in prange(sizes.groups):
        relation, on_tail = slot_relations[group % slots], group >= slots
        if relation >= 0:
            gradient = totals[firsts[group]].reshape(-1)
            values = tail if on_tail else head
            first, second = (tail_first if on_tail else head_first), (tail_second if on_tail else head_second)
            if kind == 1:
                change_row(
                    values, first, second, relation, gradient, optimizer, matrix_lr_factor, mean_left, square_left
                )
            elif kind == 3:
                count = np.float32(offsets[group % slots + 1] - offsets[group % slots])
                pull = penalty * count * np.sign(values[relation])
                for i in range(len(concepts)):
                    pull[i] += dot(concepts[i], gradient)
                change_row(values, first, second, relation, pull, optimizer, matrix_lr_factor, mean_left, square_left)
            else:
                chosen = (tail_support if on_tail else head_support)[relation]
                gains = find_gains(concepts, chosen, gradient, attention[group], temperature)
                update_scores(values, first, second, relation, chosen, gains, optimizer, rate, mean_left, square_left)


@compiled()
def find_gains(concepts, chosen, gradient, weights, temperature):
    """Return the gradient of the supported scores: how each concept lies along the matrix's gradient."""
    gains = np.empty(len(chosen), np.float32)
    mean_gain = np.float32(0)
    for i in range(len(chosen)):
        gains[i] = dot(concepts[chosen[i]], gradient)
        mean_gain += weights[i] * gains[i]
    for i in range(len(chosen)):
        gains[i] = weights[i] * (gains[i] - mean_gain) / temperature
    return gains


@compiled()
def update_scores(values, first, second, relation, chosen, gains, optimizer, rate, mean_left, square_left):
    """Change a relation's scores."""
    if optimizer == 2:  # Adam moves the whole row: scores without a gradient still have momentum
        spread = np.zeros(values.shape[1], np.float32)
        for i in range(len(chosen)):
            spread[chosen[i]] = gains[i]
        change_row(values, first, second, relation, spread, optimizer, rate, mean_left, square_left)
    else:
        for i in range(len(chosen)):
            change(values, first, second, relation, chosen[i], gains[i], optimizer, rate, mean_left, square_left)


@compiled(parallel=True)
def update_concepts(step, sizes, steps, concepts, room, rate, mean_left, square_left):
    """Sum the gradients of the matrices each concept is part of, by their weights, and change the concept."""
    values, first, second = concepts
    k, optimizer, users, offsets = sizes.support, sizes.optimizer, steps.users[step], steps.user_offsets[step]
    firsts, attention, totals = steps.segment_offsets[step], room.attention, room.matrix_gradients
    for concept in prange(len(values)):
        start, end = offsets[concept], offsets[concept + 1]
        if start < end or optimizer == 2:  # Adam's momentum moves concepts without a gradient too
            total = np.zeros(values.shape[1], np.float32)
            for n in range(start, end):
                group, place = users[n] // k, users[n] % k
                add_scaled(total, attention[group, place], totals[firsts[group]].reshape(-1))
            change_row(values, first, second, concept, total, optimizer, rate, mean_left, square_left)


@compiled(parallel=True)
def update_entities(step, sizes, steps, entities, room, rate, mean_left, square_left):
    """Change every entity a step touched, and hold it to its length."""
    values, first, second = entities
    optimizer, length, gradients = sizes.optimizer, sizes.entities, room.entity_gradients
    keys, offsets, rows = steps.entity_keys[step], steps.entity_offsets[step], steps.entity_rows[step]
    for place in prange((keys >= 0).sum()):
        key = keys[place]
        total = np.zeros(values.shape[1], np.float32)
        for n in range(offsets[place], offsets[place + 1]):
            add_scaled(total, np.float32(1), gradients[rows[n]])
        change_row(values, first, second, key, total, optimizer, rate, mean_left, square_left)
        divisor = measure_length(values[key], length)
        if divisor != 1:
            values[key] /= divisor


@compiled(parallel=True)
def update_relations(step, sizes, steps, relations, room, rate, mean_left, square_left):
    """Change the vector of every relation of a step."""
    values, first, second = relations
    optimizer, gradients = sizes.optimizer, room.relation_gradients
    keys, offsets = steps.slot_relations[step], steps.slot_offsets[step]
    for slot in prange(len(keys)):
        if keys[slot] >= 0:
            total = np.zeros(values.shape[1], np.float32)
            for triple in range(offsets[slot], offsets[slot + 1]):
                add_scaled(total, np.float32(1), gradients[triple])
            change_row(values, first, second, keys[slot], total, optimizer, rate, mean_left, square_left)
