"""GPU kernels that apply a step's gradients; see `matrix_kernels` for arguments.

`table` is the parameter, `first_state` and `second_state` are its optimizer states and `factor` is its learning-rate
multiplier. `rates` holds the learning rate and Adam's two bias corrections of every step.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl

from itransf.training.fused.contrast_kernels import constraint_divisor
from itransf.training.fused.matrix_kernels import read_attention
from itransf.training.optimizers import EPSILON, MOMENTS

SMALL = tl.constexpr(EPSILON)
BETA_MEAN = tl.constexpr(MOMENTS[0])
BETA_SQUARE = tl.constexpr(MOMENTS[1])


@triton.jit
def update(value, gradient, first_state, second_state, places, mask, rates, step, factor, OPTIMIZER: tl.constexpr):
    """Return the value after one update, and update the optimizer's state."""
    rate = tl.load(rates + step * 3) * factor
    if OPTIMIZER == 0:
        return value - rate * gradient
    elif OPTIMIZER == 1:  # noqa: RET505 - the compiler needs each return in a branch of its own
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
    counter, keys, offsets, entity_rows, gradients, table, first_state, second_state, rates, factor, l2_weight,
    step_sizes, count, batch, rows, dim: tl.constexpr,
    LISTED: tl.constexpr, CONSTRAINT: tl.constexpr, OPTIMIZER: tl.constexpr, CHUNK: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Sum the gradients of each key, update its row of the table, and apply the constraint on its length.

    The gradients between two offsets are the key's, or are listed there in entity_rows (LISTED); the first 2 B of
    those rows, heads and tails, are regularized.
    """
    step, place = tl.load(counter), tl.program_id(0)
    key = tl.load(keys + step * count + place)
    if key >= 0:
        start = tl.load(offsets + step * (count + 1) + place)
        end = tl.load(offsets + step * (count + 1) + place + 1)
        columns = tl.arange(0, DIM)
        valid = columns < dim
        total = tl.zeros((DIM,), dtype=tl.float32)
        decay = tl.zeros((1,), dtype=tl.float32)
        for first in range(start, end, CHUNK):
            numbers = first + tl.arange(0, CHUNK)
            inside = numbers < end
            if LISTED:
                numbers = tl.load(entity_rows + step.to(tl.int64) * rows + numbers, mask=inside, other=0)
                decay += tl.sum(tl.where(inside & (numbers < 2 * batch), 2 * l2_weight, 0.0), 0)
            mask = inside[:, None] & valid[None, :]
            where = gradients + numbers.to(tl.int64)[:, None] * dim + columns[None, :]
            total += tl.sum(tl.load(where, mask=mask, other=0.0), 0)
        places = key.to(tl.int64) * dim + columns
        value = tl.load(table + places, mask=valid, other=0.0)
        total += decay * value / tl.load(step_sizes + step)
        value = update(value, total, first_state, second_state, places, valid, rates, step, factor, OPTIMIZER)
        if CONSTRAINT > 0:
            value = tl.where(valid, value, 0.0)
            value = value / tl.max(constraint_divisor(value[None, :], CONSTRAINT), 0)
        tl.store(table + places, value, mask=valid)


@triton.jit
def update_matrices(
    counter, slot_relations, segment_offsets, matrix_gradients, table, first_state, second_state, rates, factor,
    first_group, slots, groups, matrix_size: tl.constexpr,
    OPTIMIZER: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Update each slot's own matrix."""
    step, slot, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    relation = tl.load(slot_relations + step * slots + slot)
    if relation >= 0:
        places = part * BLOCK + tl.arange(0, BLOCK)
        mask = places < matrix_size
        segment = tl.load(segment_offsets + step * (groups + 1) + first_group + slot)
        gradient = tl.load(matrix_gradients + segment.to(tl.int64) * matrix_size + places, mask=mask, other=0.0)
        where = relation.to(tl.int64) * matrix_size + places
        value = tl.load(table + where, mask=mask, other=0.0)
        value = update(value, gradient, first_state, second_state, where, mask, rates, step, factor, OPTIMIZER)
        tl.store(table + where, value, mask=mask)


@triton.jit
def measure_weight_gradients(
    counter, slot_relations, segment_offsets, concept_table, matrix_gradients, support, weight_gradients,
    first_group, slots, groups, matrix_size: tl.constexpr, support_size, LONG_BLOCK: tl.constexpr,
):  # fmt: skip
    """Write the gradient of each weight of a slot's matrix: the inner product of its concept with the gradient."""
    step, slot, place = tl.load(counter), tl.program_id(0), tl.program_id(1)
    relation = tl.load(slot_relations + step * slots + slot)
    if relation >= 0:
        concept = tl.load(support + relation * support_size + place)
        segment = tl.load(segment_offsets + step * (groups + 1) + first_group + slot)
        corner = matrix_gradients + segment.to(tl.int64) * matrix_size
        total = tl.zeros((LONG_BLOCK,), dtype=tl.float32)
        for start in range(0, matrix_size, LONG_BLOCK):
            places = start + tl.arange(0, LONG_BLOCK)
            mask = places < matrix_size
            matrix = tl.load(concept_table + concept.to(tl.int64) * matrix_size + places, mask=mask, other=0.0)
            total += matrix * tl.load(corner + places, mask=mask, other=0.0)
        tl.store(weight_gradients + (first_group + slot) * support_size + place, tl.sum(total, 0))


@triton.jit
def update_scores(
    counter, slot_relations, weight_gradients, table, support, first_state, second_state, rates, factor,
    attention_temperature, l1_weight, step_sizes, slot_offsets, first_group, slots, concepts, support_size,
    FREE: tl.constexpr, OPTIMIZER: tl.constexpr, K: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Update each slot's attention scores by the gradients of its weights; of free ones with the l1 penalty (FREE)."""
    step, slot = tl.load(counter), tl.program_id(0)
    relation = tl.load(slot_relations + step * slots + slot)
    if relation >= 0:
        chosen, weights = read_attention(
            relation, table, support, attention_temperature, concepts, support_size, FREE, K
        )
        numbers = tl.arange(0, K)
        used = numbers < support_size
        by_weight = tl.load(weight_gradients + (first_group + slot) * support_size + numbers, mask=used, other=0.0)
        if FREE:
            place = slot_offsets + step * (slots + 1) + slot
            share = (tl.load(place + 1) - tl.load(place)).to(tl.float32) / tl.load(step_sizes + step)
            signs = (weights > 0).to(tl.float32) - (weights < 0).to(tl.float32)
            gradient = by_weight + l1_weight * share * signs
        else:
            gradient = weights * (by_weight - tl.sum(weights * by_weight, 0)) / attention_temperature
        row = relation.to(tl.int64) * concepts
        if OPTIMIZER == 2:  # Adam updates the whole row: scores without a gradient still have momentum
            for start in range(0, concepts, COLUMNS):
                columns = start + tl.arange(0, COLUMNS)
                mask = columns < concepts
                same = (columns[:, None] == chosen[None, :]) & used[None, :]
                spread = tl.sum(tl.where(same, gradient[None, :], 0.0), 1)
                places = row + columns
                value = tl.load(table + places, mask=mask, other=0.0)
                value = update(value, spread, first_state, second_state, places, mask, rates, step, factor, OPTIMIZER)
                tl.store(table + places, value, mask=mask)
        else:
            places = row + chosen
            value = tl.load(table + places, mask=used, other=0.0)
            value = update(value, gradient, first_state, second_state, places, used, rates, step, factor, OPTIMIZER)
            tl.store(table + places, value, mask=used)


@triton.jit
def update_concepts(
    counter, uses, use_offsets, segment_offsets, attention, matrix_gradients, table, first_state, second_state,
    rates, factor, concepts, groups, support_size, matrix_size: tl.constexpr,
    OPTIMIZER: tl.constexpr, CHUNK: tl.constexpr, NARROW_BLOCK: tl.constexpr,
):  # fmt: skip
    """Sum the gradients of the matrices that use each concept, by their weights, and update the concept."""
    step, concept, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    start = tl.load(use_offsets + step * (concepts + 1) + concept)
    end = tl.load(use_offsets + step * (concepts + 1) + concept + 1)
    if (start < end) | (OPTIMIZER == 2):  # Adam's momentum moves concepts without a gradient, too
        places = part * NARROW_BLOCK + tl.arange(0, NARROW_BLOCK)
        valid = places < matrix_size
        total = tl.zeros((NARROW_BLOCK,), dtype=tl.float32)
        for first in range(start, end, CHUNK):
            numbers = first + tl.arange(0, CHUNK)
            inside = numbers < end
            used = tl.load(uses + step.to(tl.int64) * groups * support_size + numbers, mask=inside, other=0)
            weight = tl.load(attention + used, mask=inside, other=0.0)
            segments = tl.load(segment_offsets + step * (groups + 1) + used // support_size, mask=inside, other=0)
            where = matrix_gradients + segments.to(tl.int64)[:, None] * matrix_size + places[None, :]
            matrix = tl.load(where, mask=inside[:, None] & valid[None, :], other=0.0)
            total += tl.sum(weight[:, None] * matrix, 0)
        here = concept.to(tl.int64) * matrix_size + places
        value = tl.load(table + here, mask=valid, other=0.0)
        value = update(value, total, first_state, second_state, here, valid, rates, step, factor, OPTIMIZER)
        tl.store(table + here, value, mask=valid)
