"""GPU kernels that apply a step's gradients: each program owns the rows it changes.

`OPTIMIZER` is 0 for SGD, 1 for Adagrad, 2 for Adam. `rates` holds, for every step of a plan, the learning rate and
Adam's two corrections.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl

from itransf.training.fused.contrast_kernels import measure_length
from itransf.training.fused.kernels import read_attention
from itransf.training.optimizers import EPSILON, MOMENTS

SMALL = tl.constexpr(EPSILON)
BETA_MEAN = tl.constexpr(MOMENTS[0])
BETA_SQUARE = tl.constexpr(MOMENTS[1])


@triton.jit
def change(value, gradient, first_state, second_state, places, mask, rates, step, factor, OPTIMIZER: tl.constexpr):
    """Return the value after one update, moving the optimiser's state."""
    rate = tl.load(rates + step * 3) * factor
    if OPTIMIZER == 0:
        return value - rate * gradient
    elif OPTIMIZER == 1:  # noqa: RET505 - the compiler wants each return in a branch of its own
        squares = tl.load(first_state + places, mask=mask, other=0.0) + gradient * gradient
        tl.store(first_state + places, squares, mask=mask)
        return value - rate * gradient / (tl.sqrt(squares) + SMALL)
    else:
        mean = tl.load(first_state + places, mask=mask, other=0.0)
        mean = mean + (gradient - mean) * (1 - BETA_MEAN)
        square = tl.load(second_state + places, mask=mask, other=0.0) * BETA_SQUARE
        square = square + gradient * gradient * (1 - BETA_SQUARE)
        tl.store(first_state + places, mean, mask=mask)
        tl.store(second_state + places, square, mask=mask)
        root = tl.sqrt(square / tl.load(rates + step * 3 + 2)) + SMALL
        return value - rate * mean / tl.load(rates + step * 3 + 1) / root


@triton.jit
def update_rows(
    counter, keys, offsets, members, gradients, table, first_state, second_state, rates, factor,
    count, rows, dim: tl.constexpr,
    LISTED: tl.constexpr, LENGTH: tl.constexpr, OPTIMIZER: tl.constexpr, CHUNK: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Sum the gradients of each key's members, change its row of the table, and hold it to its length.

    Members are listed by number (LISTED), or are the numbers between two offsets themselves.
    """
    step, place = tl.load(counter), tl.program_id(0)
    key = tl.load(keys + step * count + place)
    if key >= 0:
        start = tl.load(offsets + step * (count + 1) + place)
        end = tl.load(offsets + step * (count + 1) + place + 1)
        columns = tl.arange(0, DIM)
        known = columns < dim
        total = tl.zeros((DIM,), dtype=tl.float32)
        for first in range(start, end, CHUNK):
            numbers = first + tl.arange(0, CHUNK)
            inside = numbers < end
            if LISTED:
                numbers = tl.load(members + step.to(tl.int64) * rows + numbers, mask=inside, other=0)
            mask = inside[:, None] & known[None, :]
            where = gradients + numbers.to(tl.int64)[:, None] * dim + columns[None, :]
            total += tl.sum(tl.load(where, mask=mask, other=0.0), 0)
        places = key.to(tl.int64) * dim + columns
        value = tl.load(table + places, mask=known, other=0.0)
        value = change(value, total, first_state, second_state, places, known, rates, step, factor, OPTIMIZER)
        if LENGTH > 0:
            value = tl.where(known, value, 0.0)
            value = value / tl.max(measure_length(value[None, :], LENGTH), 0)
        tl.store(table + places, value, mask=known)


@triton.jit
def update_matrices(
    counter, slot_relations, segment_offsets, totals, weights, first_state, second_state, rates, factor,
    first, slots, groups, size: tl.constexpr,
    OPTIMIZER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Change each slot's own matrix."""
    step, slot, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    relation = tl.load(slot_relations + step * slots + slot)
    if relation >= 0:
        places = part * BLOCK + tl.arange(0, BLOCK)
        mask = places < size
        segment = tl.load(segment_offsets + step * (groups + 1) + first + slot)
        gradient = tl.load(totals + segment.to(tl.int64) * size + places, mask=mask, other=0.0)
        where = relation.to(tl.int64) * size + places
        value = tl.load(weights + where, mask=mask, other=0.0)
        value = change(value, gradient, first_state, second_state, where, mask, rates, step, factor, OPTIMIZER)
        tl.store(weights + where, value, mask=mask)


@triton.jit
def measure_gains(
    counter, slot_relations, segment_offsets, concept_table, totals, support, gains,
    first, slots, groups, size: tl.constexpr, k, BLOCK: tl.constexpr,
):  # fmt: skip
    """Measure how well each concept that a slot's relation supports lies along the gradient of the slot's matrix."""
    step, slot, place = tl.load(counter), tl.program_id(0), tl.program_id(1)
    relation = tl.load(slot_relations + step * slots + slot)
    if relation >= 0:
        concept = tl.load(support + relation * k + place)
        corner = totals + tl.load(segment_offsets + step * (groups + 1) + first + slot).to(tl.int64) * size
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, size, BLOCK):
            places = start + tl.arange(0, BLOCK)
            mask = places < size
            matrix = tl.load(concept_table + concept.to(tl.int64) * size + places, mask=mask, other=0.0)
            total += matrix * tl.load(corner + places, mask=mask, other=0.0)
        tl.store(gains + (first + slot) * k + place, tl.sum(total, 0))


@triton.jit
def update_scores(
    counter, slot_relations, gains, scores, support, first_state, second_state,
    rates, temperature, first, slots, concepts, k,
    OPTIMIZER: tl.constexpr, K: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Change each slot's attention scores by what more of each supported concept would gain."""
    step, slot = tl.load(counter), tl.program_id(0)
    relation = tl.load(slot_relations + step * slots + slot)
    if relation >= 0:
        chosen, weights = read_attention(relation, scores, support, temperature, concepts, k, False, K)
        numbers = tl.arange(0, K)
        gained = tl.load(gains + (first + slot) * k + numbers, mask=numbers < k, other=0.0)
        gradient = weights * (gained - tl.sum(weights * gained, 0)) / temperature
        row = relation.to(tl.int64) * concepts
        if OPTIMIZER == 2:  # Adam moves the whole row: scores without a gradient still have momentum
            for start in range(0, concepts, COLUMNS):
                columns = start + tl.arange(0, COLUMNS)
                mask = columns < concepts
                same = (columns[:, None] == chosen[None, :]) & (numbers < k)[None, :]
                spread = tl.sum(tl.where(same, gradient[None, :], 0.0), 1)
                value = tl.load(scores + row + columns, mask=mask, other=0.0)
                value = change(
                    value, spread, first_state, second_state, row + columns, mask, rates, step, 1.0, OPTIMIZER
                )
                tl.store(scores + row + columns, value, mask=mask)
        else:
            mask = numbers < k
            value = tl.load(scores + row + chosen, mask=mask, other=0.0)
            value = change(value, gradient, first_state, second_state, row + chosen, mask, rates, step, 1.0, OPTIMIZER)
            tl.store(scores + row + chosen, value, mask=mask)


@triton.jit
def update_free_weights(
    counter, slot_relations, gains, weights, first_state, second_state, rates, factor, penalty, sizes, slot_offsets,
    first, slots, concepts, OPTIMIZER: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Update a slot's free weights by their gradients and the l1 penalty of its triples."""
    step, slot = tl.load(counter), tl.program_id(0)
    relation = tl.load(slot_relations + step * slots + slot).to(tl.int64)
    if relation >= 0:
        place = slot_offsets + step * (slots + 1) + slot
        share = (tl.load(place + 1) - tl.load(place)).to(tl.float32) / tl.load(sizes + step)
        columns = tl.arange(0, K)
        mask = columns < concepts
        places = relation * concepts + columns
        value = tl.load(weights + places, mask=mask, other=0.0)
        gradient = tl.load(gains + (first + slot) * concepts + columns, mask=mask, other=0.0)
        gradient += penalty * share * ((value > 0).to(tl.float32) - (value < 0).to(tl.float32))
        value = change(value, gradient, first_state, second_state, places, mask, rates, step, factor, OPTIMIZER)
        tl.store(weights + places, value, mask=mask)


@triton.jit
def update_concepts(
    counter, users, user_offsets, segment_offsets, attention, totals, concept_table, first_state, second_state,
    rates, factor, uses, concepts, groups, k, size: tl.constexpr,
    OPTIMIZER: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sum the gradients of the matrices each concept is part of, by their weights, and change the concept."""
    step, concept, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    start = tl.load(user_offsets + step * (concepts + 1) + concept)
    end = tl.load(user_offsets + step * (concepts + 1) + concept + 1)
    if (start < end) | (OPTIMIZER == 2):  # Adam's momentum moves concepts without a gradient too
        places = part * BLOCK + tl.arange(0, BLOCK)
        known = places < size
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for first in range(start, end, CHUNK):
            numbers = first + tl.arange(0, CHUNK)
            inside = numbers < end
            who = tl.load(users + step.to(tl.int64) * uses + numbers, mask=inside, other=0)
            weight = tl.load(attention + who, mask=inside, other=0.0)
            segments = tl.load(segment_offsets + step * (groups + 1) + who // k, mask=inside, other=0)
            where = totals + segments.to(tl.int64)[:, None] * size + places[None, :]
            matrix = tl.load(where, mask=inside[:, None] & known[None, :], other=0.0)
            total += tl.sum(weight[:, None] * matrix, 0)
        here = concept.to(tl.int64) * size + places
        value = tl.load(concept_table + here, mask=known, other=0.0)
        value = change(value, total, first_state, second_state, here, known, rates, step, factor, OPTIMIZER)
        tl.store(concept_table + here, value, mask=known)
