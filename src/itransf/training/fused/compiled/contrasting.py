# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""Triples beside their corrupted copies: losses and gradients."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from itransf.training.fused.compiled.arguments import REORDERED, compiled
from itransf.training.fused.compiled.arithmetic import dot, measure_length


@compiled(fastmath=REORDERED)
def measure(left, left_by, right, norm):
    """Return the distance of left / left_by from right."""
    total = np.float32(0)
    if norm == 1:
        for j in range(len(left)):
            total += abs(left[j] / left_by - right[j])
        return total
    for j in range(len(left)):
        gap = left[j] / left_by - right[j]
        total += gap * gap
    return np.float32(math.sqrt(total))


@compiled(inline="always")
def point(gap, length, norm):
    """Return the gradient of a distance along one dimension."""
    if norm == 1:
        return np.float32(1) if gap > 0 else (np.float32(-1) if gap < 0 else np.float32(0))
    return gap / length if length > 0 else np.float32(0)


@compiled()
def pull_back(gradient, vector, divisor, length):
    """Take a gradient back to before the vector's length was limited, in place."""
    if length == 0:
        return
    along = np.float32(0)
    if length != 2 or divisor > 1 or math.sqrt(dot(vector, vector)) >= 1:  # inside the ball the divisor is a constant
        along = dot(gradient, vector) / (divisor * divisor)
    for j in range(len(gradient)):
        gradient[j] = (gradient[j] - vector[j] * along) / divisor


@compiled()
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    raised = math.exp(-abs(x))
    return (1.0 if x >= 0 else raised) / (1.0 + raised)


@compiled()
def log_sigmoid(x):
    """Return log(sigmoid(x)) without overflow."""
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@compiled()
def weigh(loss_kind, d, others, pushes):
    """Return the loss of a triple and its pull; write how strongly each corrupted copy is pushed away."""
    adversarial, margin, temperature = loss_kind
    n = len(others)
    if adversarial:
        top = -others.min() * temperature
        mass = 0.0
        for j in range(n):
            pushes[j] = math.exp(-others[j] * temperature - top)
            mass += pushes[j]
        loss = log_sigmoid(margin - d)
        for j in range(n):
            share = pushes[j] / mass
            loss += share * log_sigmoid(others[j] - margin)
            pushes[j] = -share * sigmoid(margin - others[j]) / 2
        return -loss / 2, sigmoid(d - margin) / 2
    loss, pull = 0.0, 0.0
    for j in range(n):
        short = margin + d - others[j]
        pushes[j] = -1.0 / n if short > 0 else 0.0
        loss += max(short, 0.0) / n
        pull -= pushes[j]
    return loss, pull


@compiled(parallel=True)
def contrast(step, sizes, steps, vectors, by_entity, relation_table, gradients, room, losses):
    """Score every triple beside its corrupted copies; write its loss and the gradients of its rows."""
    relations, replaces_head, who = steps.relations[step], steps.replaces_head[step], steps.row_entities[step]
    share, relation_gradients, lost = np.float32(1) / steps.sizes[step, 0], room.relation_gradients, losses[step]
    batch, n, norm, length = sizes.batch, sizes.negatives, sizes.norm, sizes.projected
    loss_kind = (sizes.adversarial, sizes.margin, sizes.loss_temperature)
    for triple in prange(batch):
        if relations[triple] >= 0:
            lost[triple] = contrast_triple(
                np.int64(triple), batch, n, norm, length, loss_kind, share, replaces_head[triple] == 1, who, by_entity,
                vectors, relation_table[relations[triple]], gradients, relation_gradients[triple],
            )  # fmt: skip


@compiled(inline="always")
def find_row(who, row, by_entity):
    """Return where a row is read: projected ones under their number, others in the entity table."""
    return np.int64(who[row]) if by_entity else np.int64(row)


@compiled()
def contrast_triple(
    triple, batch, n, norm, length, loss_kind, share, of_head, who, by_entity, vectors, r, gradients, of_relation
):
    """Do it for one triple, and return its loss."""
    dim, tail_row, first = len(r), batch + triple, 2 * batch + triple * n
    head, tail = vectors[find_row(who, triple, by_entity)], vectors[find_row(who, tail_row, by_entity)]
    head_by, tail_by = measure_length(head, length), measure_length(tail, length)
    gap, wanted = np.empty(dim, np.float32), np.empty(dim, np.float32)
    for j in range(dim):
        h, t = head[j] / head_by, tail[j] / tail_by
        gap[j] = h + r[j] - t
        wanted[j] = t - r[j] if of_head else h + r[j]
    d = measure(gap, np.float32(1), np.zeros(dim, np.float32), norm)
    others, pushes, divisors = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)
    for i in range(n):
        other = vectors[find_row(who, first + i, by_entity)]
        divisors[i] = measure_length(other, length)
        others[i] = measure(other, divisors[i], wanted, norm)
    loss, pull = weigh(loss_kind, d, others, pushes)
    of_wanted = np.zeros(dim, np.float32)
    for i in range(n):
        push_away(
            vectors[find_row(who, first + i, by_entity)], divisors[i], wanted, others[i],
            np.float32(share * pushes[i]), norm, length, gradients[first + i], of_wanted,
        )  # fmt: skip
    of_head_row, of_tail_row = gradients[triple], gradients[tail_row]
    for j in range(dim):
        straight = np.float32(share * pull) * point(gap[j], d, norm)
        of_head_row[j] = straight + (np.float32(0) if of_head else of_wanted[j])
        of_tail_row[j] = (of_wanted[j] if of_head else np.float32(0)) - straight
        of_relation[j] = straight + (-of_wanted[j] if of_head else of_wanted[j])
    pull_back(of_head_row, head, head_by, length)
    pull_back(of_tail_row, tail, tail_by, length)
    return loss


@compiled()
def push_away(other, divisor, wanted, d, push, norm, length, gradient, of_wanted):
    """Write the gradient of a corrupted copy's row, and add its part to that of what it is compared with."""
    if push == 0:
        gradient[:] = 0
        return
    for j in range(len(other)):
        gradient[j] = push * point(other[j] / divisor - wanted[j], d, norm)
        of_wanted[j] -= gradient[j]
    pull_back(gradient, other, divisor, length)
