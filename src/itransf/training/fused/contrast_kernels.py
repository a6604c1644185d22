"""GPU kernels that score triples against their negatives, with all gradients; see `matrix_kernels` for arguments."""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl

from itransf.ops.dropout import COMPARED_BITS, MIXING

MASKED_DISTANCE = tl.constexpr(1e9)
FIRST_SHIFT, FIRST_FACTOR = tl.constexpr(MIXING[0][0]), tl.constexpr(MIXING[0][1])
SECOND_SHIFT, SECOND_FACTOR = tl.constexpr(MIXING[1][0]), tl.constexpr(MIXING[1][1])
THIRD_SHIFT, UNUSED_BITS = tl.constexpr(MIXING[2][0]), tl.constexpr(32 - COMPARED_BITS)


@triton.jit
def constraint_divisor(vectors, CONSTRAINT: tl.constexpr):
    """Return the divisors that apply a constraint to the lengths of vectors (X, DIM), (X,)."""
    norms = tl.sqrt(tl.sum(vectors * vectors, 1))
    if CONSTRAINT == 1:
        return tl.maximum(norms, 1e-12)
    elif CONSTRAINT == 2:  # noqa: RET505 - the compiler needs each return in a branch of its own
        return tl.maximum(norms, 1.0)
    else:
        return tl.zeros_like(norms) + 1.0


@triton.jit
def backpropagate_constraint(gradient, constrained, divisor, vectors, CONSTRAINT: tl.constexpr):
    """Return the gradient of vectors before the constraint on their length."""
    if CONSTRAINT != 0:
        free = tl.sqrt(tl.sum(vectors * vectors, 1)) < divisor  # inside the ball: divided by a constant
        along = tl.where(free, 0.0, tl.sum(gradient * constrained, 1))
        gradient = (gradient - constrained * along[:, None]) / divisor[:, None]
    return gradient


@triton.jit
def measure(difference, NORM: tl.constexpr):
    """Return the norms of vectors (X, DIM), (X,)."""
    if NORM == 1:
        return tl.sum(tl.abs(difference), 1)
    else:  # noqa: RET505 - as above
        return tl.sqrt(tl.sum(difference * difference, 1))


@triton.jit
def measure_gradient(difference, distance, NORM: tl.constexpr):
    """Return the gradient of the norm: signs for l1, the direction for l2."""
    if NORM == 1:
        return tl.where(difference > 0, 1.0, tl.where(difference < 0, -1.0, 0.0))
    else:  # noqa: RET505 - as above
        return difference / tl.where(distance > 0, distance, 1.0)[:, None]


@triton.jit
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    power = tl.exp(-tl.abs(x))
    return tl.where(x >= 0, 1.0, power) / (1.0 + power)


@triton.jit
def log_sigmoid(x):
    """Return log(sigmoid(x)) without overflow."""
    return tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))


@triton.jit
def find_rows(row_entities, base, numbers, inside, PROJECTED: tl.constexpr):
    """Return the places of rows' vectors: their numbers if they were projected, else their entities."""
    if PROJECTED:
        return numbers.to(tl.int64)
    else:  # noqa: RET505 - as above
        return tl.load(row_entities + base + numbers, mask=inside, other=0).to(tl.int64)


@triton.jit
def read_negatives(
    vectors, row_entities, base, numbers, inside, valid, columns,
    dim: tl.constexpr, PROJECTED: tl.constexpr, CONSTRAINT: tl.constexpr,
):  # fmt: skip
    """Return the vectors of negatives (X, DIM), their divisors (X,), and the constrained vectors."""
    at = find_rows(row_entities, base, numbers, inside, PROJECTED)
    y = tl.load(vectors + at[:, None] * dim + columns[None, :], mask=inside[:, None] & valid, other=0.0)
    divisor = constraint_divisor(y, CONSTRAINT)
    return y, divisor, y / divisor[:, None]


@triton.jit
def drop(differences, numbers, columns, seed, drop_threshold, keep_scale, dim: tl.constexpr, DROPS: tl.constexpr):
    """Return differences (X, DIM) with dropout, and the factors (X, DIM) of `ops.dropout`, given their numbers (X,)."""
    if DROPS:
        x = (numbers[:, None].to(tl.uint32) * dim + columns[None, :].to(tl.uint32)) ^ seed
        x = (x ^ (x >> FIRST_SHIFT)) * FIRST_FACTOR
        x = (x ^ (x >> SECOND_SHIFT)) * SECOND_FACTOR
        x = x ^ (x >> THIRD_SHIFT)
        kept = tl.where((x >> UNUSED_BITS).to(tl.int32) >= drop_threshold, keep_scale, 0.0)
        return differences * kept, kept
    else:  # noqa: RET505 - as above
        return differences, 1.0


@triton.jit
def mask_distances(distances, inside, masks, places):
    """Return distances that are large where shared negatives are masked."""
    return tl.where(tl.load(masks + places, mask=inside, other=1) != 0, MASKED_DISTANCE, distances)


@triton.jit
def compare_negatives(
    constrained, target, inside, valid, masks, places, first, columns, seed, drop_threshold, keep_scale,
    dim: tl.constexpr, SHARED: tl.constexpr, NORM: tl.constexpr, DROPS: tl.constexpr,
):  # fmt: skip
    """Return the distances of negatives from the target, (X,), large if masked, and their gradients, (X, DIM).

    `first` is the number of the triple's first negative among all of the step.
    """
    z = tl.where(inside[:, None] & valid, constrained - target, 0.0)
    z, kept = drop(z, first + places, columns, seed, drop_threshold, keep_scale, dim, DROPS)
    distances = measure(z, NORM)
    gradient = measure_gradient(z, distances, NORM) * kept
    if SHARED:
        distances = mask_distances(distances, inside, masks, places)
    return distances, gradient


@triton.jit
def add_negatives(
    highest, total, weighted, distances, inside, d, margin, temperature, ADVERSARIAL: tl.constexpr
):  # fmt: skip
    """Return the sums that the loss needs after more negatives of a triple, whose own distance is `d`.

    `highest` is the largest logit so far, and the others are the sum of the softmax and its sum weighted by
    log-likelihoods (ADVERSARIAL), or `total` is the number and `weighted` the sum of violations of the margin.
    """
    if ADVERSARIAL:
        logits = tl.where(inside, -distances * temperature, -float("inf"))
        higher = tl.maximum(highest, tl.max(logits, 0))
        powers = tl.exp(logits - higher)
        shrink = tl.exp(highest - higher)
        weighted = weighted * shrink + tl.sum(powers * log_sigmoid(distances - margin), 0)
        return higher, total * shrink + tl.sum(powers, 0), weighted
    else:  # noqa: RET505 - as above
        violation = tl.where(inside, margin + d - distances, 0.0)
        total += tl.sum(tl.where(violation > 0, 1.0, 0.0), 0)
        return highest, total, weighted + tl.sum(tl.maximum(violation, 0.0), 0)


@triton.jit
def finish_loss(total, weighted, d, margin, share, n, ADVERSARIAL: tl.constexpr):
    """Return a triple's loss, and the gradient of its share by its own distance."""
    if ADVERSARIAL:
        return -(log_sigmoid(margin - d) + weighted / total) / 2, share * sigmoid(d - margin) / 2
    else:  # noqa: RET505 - as above
        return weighted / n, share * total / n


@triton.jit
def loss_gradient(distances, first, total, margin, temperature, share, n, ADVERSARIAL: tl.constexpr):
    """Return the gradient of a triple's loss by the distances of its negatives.

    `first` is the largest logit and `total` the sum of the softmax (ADVERSARIAL), or `first` is the triple's distance.
    """
    if ADVERSARIAL:
        weight = tl.exp(-distances * temperature - first) / total
        return -share * weight * sigmoid(margin - distances) / 2
    else:  # noqa: RET505 - as above
        return tl.where(margin + first - distances > 0, -share / n, 0.0)


@triton.jit
def contrast(
    counter, relations, replaces_head, shares, row_entities, vectors, relation_table, gradients,
    relation_gradients, triple_slots, masked, targets, statistics, losses, margin, adversarial_temperature,
    l2_weight, seeds, drop_threshold, keep_scale, step_sizes, batch, rows, negatives, dim: tl.constexpr,
    SHARED: tl.constexpr, PROJECTED: tl.constexpr, ADVERSARIAL: tl.constexpr, NORM: tl.constexpr,
    CONSTRAINT: tl.constexpr, DROPS: tl.constexpr, NEGATIVES: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Score one triple against its negatives; write its loss and the gradients of all its rows.

    The gradients of shared replacements (SHARED) are left to `sum_shared_gradients`, those of the regularizer by
    embeddings of entities to `update_rows`.
    """
    step, triple = tl.load(counter), tl.program_id(0)
    relation = tl.load(relations + step * batch + triple)
    if relation >= 0:
        base = step.to(tl.int64) * rows
        one, columns = tl.arange(0, 1), tl.arange(0, DIM)
        valid = (columns < dim)[None, :]
        always = one >= 0
        head_at = find_rows(row_entities, base, one + triple, always, PROJECTED)
        tail_at = find_rows(row_entities, base, one + batch + triple, always, PROJECTED)
        head = tl.load(vectors + head_at[:, None] * dim + columns[None, :], mask=valid, other=0.0)  # (1, DIM)
        tail = tl.load(vectors + tail_at[:, None] * dim + columns[None, :], mask=valid, other=0.0)
        r = tl.load(relation_table + relation.to(tl.int64) * dim + columns[None, :], mask=valid, other=0.0)
        head_divisor, tail_divisor = constraint_divisor(head, CONSTRAINT), constraint_divisor(tail, CONSTRAINT)
        h, t = head / head_divisor[:, None], tail / tail_divisor[:, None]
        seed, size = tl.load(seeds + step).to(tl.uint32), tl.load(step_sizes + step).to(tl.int32)
        number = size * negatives + triple + one  # after all negatives of the step
        difference, kept = drop(h + r - t, number, columns, seed, drop_threshold, keep_scale, dim, DROPS)
        d = measure(difference, NORM)  # (1,)
        of_head = tl.load(replaces_head + step * batch + triple) == 1
        target = tl.where(of_head, t - r, h + r)
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
            numbers = 2 * batch + owner * negatives + places
            _, _, constrained = read_negatives(
                vectors, row_entities, base, numbers, inside, valid, columns, dim, PROJECTED, CONSTRAINT
            )
            distances, _ = compare_negatives(
                constrained, target, inside, valid, masks, places, triple * negatives, columns, seed, drop_threshold,
                keep_scale, dim, SHARED, NORM, DROPS,
            )  # fmt: skip
            highest, total, weighted = add_negatives(
                highest, total, weighted, distances, inside, d, margin, adversarial_temperature, ADVERSARIAL
            )
        share = tl.load(shares + step * batch + triple)
        loss, by_distance = finish_loss(total, weighted, d, margin, share, negatives, ADVERSARIAL)
        tl.store(losses + step * batch + triple + one, loss)
        if SHARED:
            tl.store(targets + triple * dim + columns[None, :], target, mask=valid)
            tl.store(statistics + 2 * triple + one, highest if ADVERSARIAL else d)
            tl.store(statistics + 2 * triple + 1 + one, total)

        # Second pass: the gradients of the negatives, and of the target.
        target_gradient = tl.zeros((1, DIM), dtype=tl.float32)
        for j in range(0, negatives, NEGATIVES):
            places = j + tl.arange(0, NEGATIVES)
            inside = places < negatives
            numbers = 2 * batch + owner * negatives + places
            y, divisor, constrained = read_negatives(
                vectors, row_entities, base, numbers, inside, valid, columns, dim, PROJECTED, CONSTRAINT
            )
            distances, slope = compare_negatives(
                constrained, target, inside, valid, masks, places, triple * negatives, columns, seed, drop_threshold,
                keep_scale, dim, SHARED, NORM, DROPS,
            )  # fmt: skip
            first = highest if ADVERSARIAL else d
            by_negative = loss_gradient(
                distances, first, total, margin, adversarial_temperature, share, negatives, ADVERSARIAL
            )
            g = tl.where(inside, by_negative, 0.0)[:, None] * slope
            target_gradient -= tl.sum(g, 0)[None, :]
            if not SHARED:
                g = backpropagate_constraint(g, constrained, divisor, y, CONSTRAINT)
                where = gradients + numbers.to(tl.int64)[:, None] * dim + columns[None, :]
                tl.store(where, g, mask=inside[:, None] & valid)

        direct = by_distance[:, None] * measure_gradient(difference, d, NORM) * kept
        decay = 2 * l2_weight / tl.load(step_sizes + step)
        head_gradient = decay * h + direct + tl.where(of_head, 0.0, target_gradient)
        tail_gradient = decay * t + tl.where(of_head, target_gradient, 0.0) - direct
        relation_gradient = decay * r + direct + tl.where(of_head, -target_gradient, target_gradient)
        head_gradient = backpropagate_constraint(head_gradient, h, head_divisor, head, CONSTRAINT)
        tail_gradient = backpropagate_constraint(tail_gradient, t, tail_divisor, tail, CONSTRAINT)
        here = (one + triple).to(tl.int64)[:, None] * dim + columns[None, :]
        there = (one + batch + triple).to(tl.int64)[:, None] * dim + columns[None, :]
        tl.store(gradients + here, head_gradient, mask=valid)
        tl.store(gradients + there, tail_gradient, mask=valid)
        tl.store(relation_gradients + here, relation_gradient, mask=valid)


@triton.jit
def sum_shared_gradients(
    counter, shares, slot_relations, slot_offsets, row_entities, masked, vectors, targets, statistics, gradients,
    margin, adversarial_temperature, seeds, drop_threshold, keep_scale, batch, slots, rows, negatives,
    dim: tl.constexpr, PROJECTED: tl.constexpr, ADVERSARIAL: tl.constexpr, NORM: tl.constexpr, CONSTRAINT: tl.constexpr,
    DROPS: tl.constexpr, NEGATIVES: tl.constexpr, DIM: tl.constexpr,
):  # fmt: skip
    """Sum the gradients of some of a slot's shared replacements over the triples of the slot."""
    step, slot, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    if tl.load(slot_relations + step * slots + slot) >= 0:
        base = step.to(tl.int64) * rows
        places, columns = part * NEGATIVES + tl.arange(0, NEGATIVES), tl.arange(0, DIM)
        inside, valid = places < negatives, (columns < dim)[None, :]
        numbers = 2 * batch + slot * negatives + places
        y, divisor, constrained = read_negatives(
            vectors, row_entities, base, numbers, inside, valid, columns, dim, PROJECTED, CONSTRAINT
        )
        gradient, seed = tl.zeros((NEGATIVES, DIM), dtype=tl.float32), tl.load(seeds + step).to(tl.uint32)
        start = tl.load(slot_offsets + step * (slots + 1) + slot)
        end = tl.load(slot_offsets + step * (slots + 1) + slot + 1)
        for triple in range(start, end):
            target = tl.load(targets + triple * dim + columns[None, :], mask=valid, other=0.0)
            masks = masked + (step.to(tl.int64) * batch + triple) * negatives
            distances, slope = compare_negatives(
                constrained, target, inside, valid, masks, places, triple * negatives, columns, seed, drop_threshold,
                keep_scale, dim, True, NORM, DROPS,
            )  # fmt: skip
            first, total = tl.load(statistics + 2 * triple), tl.load(statistics + 2 * triple + 1)
            share = tl.load(shares + step * batch + triple)
            by_negative = loss_gradient(
                distances, first, total, margin, adversarial_temperature, share, negatives, ADVERSARIAL
            )
            gradient += tl.where(inside, by_negative, 0.0)[:, None] * slope
        gradient = backpropagate_constraint(gradient, constrained, divisor, y, CONSTRAINT)
        where = gradients + numbers.to(tl.int64)[:, None] * dim + columns[None, :]
        tl.store(where, gradient, mask=inside[:, None] & valid)
