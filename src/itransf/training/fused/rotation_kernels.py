"""GPU kernels like `contrast_kernels`, for models whose relations turn complex vectors by angles.

A row of entities holds d real parts, then d imaginary parts; a row of relations holds d angles, divided by `angle`. The
target of a triple is the vector that its own answer and the replacements are compared with: its head, turned, if they
are tails, or its tail, turned backwards, if they are heads.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl

from itransf.training.fused.contrast_kernels import (
    add_negatives,
    find_rows,
    finish_loss,
    loss_gradient,
    mask_distances,
)


@triton.jit
def read_parts(table, at, mask, columns, half: tl.constexpr):
    """Return the real and the imaginary parts of rows of a table, (X, D) each."""
    where = table + at.to(tl.int64)[:, None] * (2 * half) + columns[None, :]
    return tl.load(where, mask=mask, other=0.0), tl.load(where + half, mask=mask, other=0.0)


@triton.jit
def write_parts(table, at, real, imaginary, mask, columns, half: tl.constexpr):
    """Write the real and the imaginary parts of rows of a table."""
    where = table + at.to(tl.int64)[:, None] * (2 * half) + columns[None, :]
    tl.store(where, real, mask=mask)
    tl.store(where + half, imaginary, mask=mask)


@triton.jit
def turn(real, imaginary, cosines, sines):
    """Return complex numbers turned by angles."""
    return real * cosines - imaginary * sines, real * sines + imaginary * cosines


@triton.jit
def compare(real, imaginary, target_real, target_imaginary):
    """Return the distances of vectors (X, D) from a target, (X,), and the gradients of these by the vectors."""
    x, y = real - target_real, imaginary - target_imaginary
    squares = x * x + y * y
    inverses = tl.rsqrt(tl.maximum(squares, 1e-24))  # the floor keeps the gradient of a zero finite
    return tl.sum(squares * inverses, 1), x * inverses, y * inverses


@triton.jit
def measure(real, imaginary, target_real, target_imaginary):
    """Return the distances alone."""
    distances, _, _ = compare(real, imaginary, target_real, target_imaginary)
    return distances


@triton.jit
def contrast(
    counter, relations, replaces_head, shares, row_entities, entity_table, relation_table, entity_gradients,
    relation_gradients, triple_slots, masked, targets, statistics, losses, margin, adversarial_temperature, angle,
    batch, rows, negatives, relation_dim: tl.constexpr,
    SHARED: tl.constexpr, ADVERSARIAL: tl.constexpr, NEGATIVES: tl.constexpr, RELATION_DIM: tl.constexpr,
):  # fmt: skip
    """Score one triple against its negatives; write its loss and the gradients of all its rows.

    The gradients of shared replacements (SHARED) are left to `sum_shared_gradients`.
    """
    step, triple = tl.load(counter), tl.program_id(0)
    relation = tl.load(relations + step * batch + triple)
    if relation >= 0:
        base = step.to(tl.int64) * rows
        one, columns = tl.arange(0, 1), tl.arange(0, RELATION_DIM)
        always, valid = one >= 0, (columns < relation_dim)[None, :]
        of_head = tl.load(replaces_head + step * batch + triple) == 1
        sign = tl.where(of_head, -1.0, 1.0)
        anchor_row = one + tl.where(of_head, batch + triple, triple)
        answer_row = one + tl.where(of_head, triple, batch + triple)
        anchor_at = find_rows(row_entities, base, anchor_row, always, False)
        answer_at = find_rows(row_entities, base, answer_row, always, False)
        anchor_real, anchor_imaginary = read_parts(entity_table, anchor_at, valid, columns, relation_dim)  # (1, D)
        place = relation.to(tl.int64) * relation_dim + columns[None, :]
        angles = angle * tl.load(relation_table + place, mask=valid, other=0.0)
        cosines, sines = tl.cos(angles), sign * tl.sin(angles)
        target_real, target_imaginary = turn(anchor_real, anchor_imaginary, cosines, sines)
        answer_real, answer_imaginary = read_parts(entity_table, answer_at, valid, columns, relation_dim)
        d = measure(answer_real, answer_imaginary, target_real, target_imaginary)  # (1,)
        owner = triple
        if SHARED:
            owner = tl.load(triple_slots + step * batch + triple)
        masks = masked + (step.to(tl.int64) * batch + triple) * negatives

        # First pass: the distances of the negatives, and the sums that the loss needs.
        highest = tl.full((1,), -float("inf"), dtype=tl.float32)
        total = tl.zeros((1,), dtype=tl.float32)
        weighted = tl.zeros((1,), dtype=tl.float32)
        for j in range(0, negatives, NEGATIVES):
            places = j + tl.arange(0, NEGATIVES)
            inside = places < negatives
            at = find_rows(row_entities, base, 2 * batch + owner * negatives + places, inside, False)
            real, imaginary = read_parts(entity_table, at, inside[:, None] & valid, columns, relation_dim)
            distances = measure(real, imaginary, target_real, target_imaginary)
            if SHARED:
                distances = mask_distances(distances, inside, masks, places)
            highest, total, weighted = add_negatives(
                highest, total, weighted, distances, inside, d, margin, adversarial_temperature, ADVERSARIAL
            )
        share = tl.load(shares + step * batch + triple)
        loss, by_distance = finish_loss(total, weighted, d, margin, share, negatives, ADVERSARIAL)
        tl.store(losses + step * batch + triple + one, loss)
        if SHARED:
            write_parts(targets, one + triple, target_real, target_imaginary, valid, columns, relation_dim)
            tl.store(statistics + 2 * triple + one, highest if ADVERSARIAL else d)
            tl.store(statistics + 2 * triple + 1 + one, total)

        # The answer is read again: registers that would hold it are few.
        answer_real, answer_imaginary = read_parts(entity_table, answer_at, valid, columns, relation_dim)
        _, own_real, own_imaginary = compare(answer_real, answer_imaginary, target_real, target_imaginary)
        real_gradient, imaginary_gradient = -by_distance[:, None] * own_real, -by_distance[:, None] * own_imaginary
        write_parts(entity_gradients, answer_row, -real_gradient, -imaginary_gradient, valid, columns, relation_dim)

        # Second pass: the gradients of the negatives, and of the target.
        for j in range(0, negatives, NEGATIVES):
            places = j + tl.arange(0, NEGATIVES)
            inside = places < negatives
            numbers = 2 * batch + owner * negatives + places
            at = find_rows(row_entities, base, numbers, inside, False)
            mask = inside[:, None] & valid
            real, imaginary = read_parts(entity_table, at, mask, columns, relation_dim)
            distances, by_real, by_imaginary = compare(real, imaginary, target_real, target_imaginary)
            if SHARED:
                distances = mask_distances(distances, inside, masks, places)
            first = highest if ADVERSARIAL else d
            by_negative = loss_gradient(
                distances, first, total, margin, adversarial_temperature, share, negatives, ADVERSARIAL
            )
            by_negative = tl.where(inside, by_negative, 0.0)[:, None]
            by_real, by_imaginary = by_negative * by_real, by_negative * by_imaginary
            real_gradient -= tl.sum(by_real, 0)[None, :]
            imaginary_gradient -= tl.sum(by_imaginary, 0)[None, :]
            if not SHARED:
                write_parts(entity_gradients, numbers, by_real, by_imaginary, mask, columns, relation_dim)

        by_angle = sign * (imaginary_gradient * target_real - real_gradient * target_imaginary)
        here = (one + triple).to(tl.int64)[:, None] * relation_dim + columns[None, :]
        tl.store(relation_gradients + here, angle * by_angle, mask=valid)
        anchor_real, anchor_imaginary = turn(real_gradient, imaginary_gradient, cosines, -sines)
        write_parts(entity_gradients, anchor_row, anchor_real, anchor_imaginary, valid, columns, relation_dim)


@triton.jit
def sum_shared_gradients(
    counter, shares, slot_relations, slot_offsets, row_entities, masked, entity_table, targets, statistics,
    entity_gradients, margin, adversarial_temperature, batch, slots, rows, negatives, relation_dim: tl.constexpr,
    ADVERSARIAL: tl.constexpr, NEGATIVES: tl.constexpr, RELATION_DIM: tl.constexpr,
):  # fmt: skip
    """Sum the gradients of some of a slot's shared replacements over the triples of the slot."""
    step, slot, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    if tl.load(slot_relations + step * slots + slot) >= 0:
        one = tl.arange(0, 1)
        places, columns = part * NEGATIVES + tl.arange(0, NEGATIVES), tl.arange(0, RELATION_DIM)
        inside, valid = places < negatives, (columns < relation_dim)[None, :]
        mask, numbers = inside[:, None] & valid, 2 * batch + slot * negatives + places
        at = find_rows(row_entities, step.to(tl.int64) * rows, numbers, inside, False)
        real, imaginary = read_parts(entity_table, at, mask, columns, relation_dim)
        real_gradient = tl.zeros((NEGATIVES, RELATION_DIM), dtype=tl.float32)
        imaginary_gradient = tl.zeros((NEGATIVES, RELATION_DIM), dtype=tl.float32)
        start = tl.load(slot_offsets + step * (slots + 1) + slot)
        end = tl.load(slot_offsets + step * (slots + 1) + slot + 1)
        for triple in range(start, end):
            target_real, target_imaginary = read_parts(targets, one + triple, valid, columns, relation_dim)
            masks = masked + (step.to(tl.int64) * batch + triple) * negatives
            distances, by_real, by_imaginary = compare(real, imaginary, target_real, target_imaginary)
            distances = mask_distances(distances, inside, masks, places)
            first, total = tl.load(statistics + 2 * triple), tl.load(statistics + 2 * triple + 1)
            share = tl.load(shares + step * batch + triple)
            by_negative = loss_gradient(
                distances, first, total, margin, adversarial_temperature, share, negatives, ADVERSARIAL
            )
            by_negative = tl.where(inside, by_negative, 0.0)[:, None]
            real_gradient += by_negative * by_real
            imaginary_gradient += by_negative * by_imaginary
        write_parts(entity_gradients, numbers, real_gradient, imaginary_gradient, mask, columns, relation_dim)
