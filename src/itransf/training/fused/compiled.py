"""The training step for the CPU, compiled by numba; imported only where that is installed.

It follows the same plan as the GPU kernels, phase by phase; the phases run on all cores. No two iterations of a
parallel loop write to one place, so results do not depend on how many threads there are.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import prange

from itransf.training.optimizers import EPSILON, MOMENTS

BETA_MEAN, BETA_SQUARE = MOMENTS
REORDERED = {"reassoc", "contract"}  # sums may be vectorised: their order is then the compiler's, and always the same


class Sizes(NamedTuple):
    """Sizes and choices of a step, as numbers."""

    batch: int
    negatives: int
    slots: int
    groups: int
    segment: int
    support: int
    dim: int
    kind: int  # of projections: 0 none, 1 own matrices, 2 concepts
    norm: int
    projected: int  # lengths: 0 none, 1 unit, 2 ball
    entities: int
    adversarial: int
    optimizer: int  # 0 SGD, 1 Adagrad, 2 Adam
    margin: float
    loss_temperature: float
    temperature: float
    matrix_rate: float


class Steps(NamedTuple):
    """The arrays of a plan that are used here; see `plan.Plan`."""

    relations: Any
    replaces_head: Any
    sizes: Any
    slot_relations: Any
    slot_offsets: Any
    row_entities: Any
    group_rows: Any
    group_offsets: Any
    segment_groups: Any
    segment_starts: Any
    segment_offsets: Any
    entity_keys: Any
    entity_offsets: Any
    entity_rows: Any
    users: Any
    user_offsets: Any


class Table(NamedTuple):
    """A parameter and its two optimiser states, rows of equal length."""

    values: Any
    first: Any
    second: Any


class Projections(NamedTuple):
    """What both sides project with: own matrices or scores with supports on each side, and shared concepts."""

    head: Table
    tail: Table
    head_support: Any
    tail_support: Any
    concepts: Table


class Room(NamedTuple):
    """What a step writes and the next writes over; see `engine.Buffers`."""

    vectors: Any
    gradients: Any
    entity_gradients: Any
    relation_gradients: Any
    matrices: Any
    matrix_gradients: Any
    attention: Any


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Compile a function when it is first called; keep the result on disk where a folder can be written."""

    def compile_it(function: Any) -> Any:
        try:
            return numba.njit(cache=True, error_model="numpy", **options)(function)
        except RuntimeError:  # no folder can be written to
            return numba.njit(error_model="numpy", **options)(function)

    return compile_it


@compiled()
def add_scaled(target, weight, source):
    """Add a multiple of one vector to another."""
    for j in range(len(target)):
        target[j] += weight * source[j]


@compiled(inline="always")
def change(values, firsts, seconds, row, column, gradient, optimizer, rate, mean_left, square_left):
    """Update one number of a table, moving the optimiser's state."""
    if optimizer == 0:
        values[row, column] -= rate * gradient
    elif optimizer == 1:
        firsts[row, column] += gradient * gradient
        values[row, column] -= rate * gradient / (math.sqrt(firsts[row, column]) + np.float32(EPSILON))
    else:
        mean = firsts[row, column]
        mean += (gradient - mean) * np.float32(1 - BETA_MEAN)
        square = seconds[row, column] * np.float32(BETA_SQUARE)
        square += gradient * gradient * np.float32(1 - BETA_SQUARE)
        firsts[row, column], seconds[row, column] = mean, square
        root = math.sqrt(square / square_left) + np.float32(EPSILON)
        values[row, column] -= rate * mean / mean_left / root


@compiled()
def change_row(values, firsts, seconds, row, gradient, optimizer, rate, mean_left, square_left):
    """Update one row of a table."""
    if optimizer == 0:
        add_scaled(values[row], -rate, gradient)
    else:
        for j in range(len(gradient)):
            change(values, firsts, seconds, row, j, gradient[j], optimizer, rate, mean_left, square_left)


@compiled(fastmath=REORDERED)
def dot(left, right):
    """Return the inner product of two vectors."""
    total = np.float32(0)
    for j in range(len(left)):
        total += left[j] * right[j]
    return total


@compiled(fastmath=REORDERED)
def multiply_four(matrix, a, b, c, d, ya, yb, yc, yd):
    """Multiply four vectors with a matrix, reading it once."""
    for o in range(matrix.shape[0]):
        row = matrix[o]
        sa, sb, sc, sd = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        for j in range(len(row)):
            w = row[j]
            sa += w * a[j]
            sb += w * b[j]
            sc += w * c[j]
            sd += w * d[j]
        ya[o], yb[o], yc[o], yd[o] = sa, sb, sc, sd


@compiled()
def multiply_one(matrix, vector, product):
    """Multiply a vector with a matrix."""
    for o in range(matrix.shape[0]):
        product[o] = dot(matrix[o], vector)


@compiled()
def attend(scores, relation, support, temperature, weights):
    """Write the softmax of a relation's supported scores."""
    k = len(weights)
    top = scores[relation, support[relation, 0]]
    for i in range(1, k):
        top = max(top, scores[relation, support[relation, i]])
    mass = np.float32(0)
    for i in range(k):
        weights[i] = math.exp((scores[relation, support[relation, i]] - top) / temperature)
        mass += weights[i]
    for i in range(k):
        weights[i] /= mass


@compiled(parallel=True)
def make_matrices(step, sizes, steps, projections, room):
    """Compose or copy the matrix of every group."""
    slots, k, kind, temperature = sizes.slots, sizes.support, sizes.kind, np.float32(sizes.temperature)
    slot_relations, matrices, attention = steps.slot_relations[step], room.matrices, room.attention
    head, tail, concepts = projections.head.values, projections.tail.values, projections.concepts.values
    head_support, tail_support = projections.head_support, projections.tail_support
    for group in prange(sizes.groups):
        relation = slot_relations[group % slots]
        if relation >= 0:
            own = tail if group >= slots else head
            support = tail_support if group >= slots else head_support
            matrix = matrices[group].reshape(-1)
            if kind == 1:
                matrix[:] = own[relation]
            else:
                weights = attention[group]
                attend(own, relation, support, temperature, weights)
                matrix[:] = 0
                for i in range(k):
                    add_scaled(matrix, weights[i], concepts[support[relation, i]])


@compiled(parallel=True)
def project_rows(step, sizes, steps, entities, room):
    """Multiply the rows of every segment with their group's matrix."""
    groups, starts, offsets = steps.segment_groups[step], steps.segment_starts[step], steps.group_offsets[step]
    used = steps.segment_offsets[step, sizes.groups]
    rows, who, size, matrices, out = (
        steps.group_rows[step],
        steps.row_entities[step],
        sizes.segment,
        room.matrices,
        room.vectors,
    )
    for segment in prange(used):
        start, matrix = starts[segment], matrices[groups[segment]]
        end = min(start + size, offsets[groups[segment] + 1])
        whole = start + (end - start) // 4 * 4
        for n in range(start, whole, 4):
            a, b, c, d = rows[n], rows[n + 1], rows[n + 2], rows[n + 3]
            multiply_four(
                matrix,
                entities[who[a]], entities[who[b]], entities[who[c]], entities[who[d]],
                out[a], out[b], out[c], out[d],
            )  # fmt: skip
        for n in range(whole, end):
            multiply_one(matrix, entities[who[rows[n]]], out[rows[n]])


@compiled(parallel=True)
def pull_rows_back(step, sizes, steps, entities, room):
    """Take every segment's gradients back through the matrix, and sum its part of the matrix's gradient."""
    groups, starts, offsets = steps.segment_groups[step], steps.segment_starts[step], steps.group_offsets[step]
    used = steps.segment_offsets[step, sizes.groups]
    rows, who, size = steps.group_rows[step], steps.row_entities[step], sizes.segment
    matrices, totals, gradients, backs = room.matrices, room.matrix_gradients, room.gradients, room.entity_gradients
    for segment in prange(used):
        start, matrix, total = starts[segment], matrices[groups[segment]], totals[segment]
        end = min(start + size, offsets[groups[segment] + 1])
        total[:] = 0
        whole = start + (end - start) // 2 * 2
        for n in range(start, whole, 2):
            a, b = rows[n], rows[n + 1]
            pull_two_back(
                matrix, total, entities[who[a]], entities[who[b]], gradients[a], gradients[b], backs[a], backs[b]
            )
        for n in range(whole, end):
            pull_row_back(matrix, total, entities[who[rows[n]]], gradients[rows[n]], backs[rows[n]])


@compiled()
def pull_row_back(matrix, total, vector, gradient, back):
    """Write matrix' @ gradient, and add gradient x vector to the matrix's gradient."""
    back[:] = 0
    for o in range(len(gradient)):
        if gradient[o] != 0:
            add_both(back, gradient[o], matrix[o], total[o], vector)


@compiled()
def pull_two_back(matrix, total, x, y, g, h, back_x, back_y):
    """Do it for two rows, reading the matrix and writing its gradient once."""
    back_x[:] = 0
    back_y[:] = 0
    for o in range(len(g)):
        row, sums, by_x, by_y = matrix[o], total[o], g[o], h[o]
        for j in range(len(row)):
            back_x[j] += by_x * row[j]
            back_y[j] += by_y * row[j]
            sums[j] += by_x * x[j] + by_y * y[j]


@compiled()
def add_both(back, g, matrix_row, total_row, vector):
    """Add g times a matrix's row to one vector, and g times another vector to the row's gradient."""
    for j in range(len(back)):
        back[j] += g * matrix_row[j]
        total_row[j] += g * vector[j]


@compiled(parallel=True)
def add_segments(step, sizes, steps, room):
    """Add the later segments of each group to its first."""
    firsts, totals = steps.segment_offsets[step], room.matrix_gradients
    for group in prange(sizes.groups):
        for segment in range(firsts[group] + 1, firsts[group + 1]):
            add_scaled(totals[firsts[group]].reshape(-1), np.float32(1), totals[segment].reshape(-1))


@compiled(parallel=True)
def update_projections(step, sizes, steps, projections, room, rate, mean_left, square_left):
    """Change every slot's own matrix, or its attention scores."""
    slots, kind, optimizer, temperature = sizes.slots, sizes.kind, sizes.optimizer, np.float32(sizes.temperature)
    matrix_rate = rate * np.float32(sizes.matrix_rate)
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
                change_row(values, first, second, relation, gradient, optimizer, matrix_rate, mean_left, square_left)
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
            for fact in range(offsets[slot], offsets[slot + 1]):
                add_scaled(total, np.float32(1), gradients[fact])
            change_row(values, first, second, keys[slot], total, optimizer, rate, mean_left, square_left)


@compiled()
def measure_length(vector, length):
    """Return what a vector is divided by to have its length: 0 none, 1 unit, 2 ball."""
    if length == 0:
        return np.float32(1)
    norm = np.float32(math.sqrt(dot(vector, vector)))
    return max(norm, np.float32(1e-12)) if length == 1 else max(norm, np.float32(1))


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
    if not (length == 2 and divisor == 1):  # inside the ball the divisor is a constant
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
    """Return the loss of a fact and its pull; write how strongly each corrupted copy is pushed away."""
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
    """Score every fact beside its corrupted copies; write its loss and the gradients of its rows."""
    relations, replaces_head, who = steps.relations[step], steps.replaces_head[step], steps.row_entities[step]
    share, relation_gradients, lost = np.float32(1) / steps.sizes[step, 0], room.relation_gradients, losses[step]
    batch, n, norm, length = sizes.batch, sizes.negatives, sizes.norm, sizes.projected
    loss_kind = (sizes.adversarial, sizes.margin, sizes.loss_temperature)
    for fact in prange(batch):
        if relations[fact] >= 0:
            lost[fact] = contrast_fact(
                np.int64(fact), batch, n, norm, length, loss_kind, share, replaces_head[fact] == 1, who, by_entity,
                vectors, relation_table[relations[fact]], gradients, relation_gradients[fact],
            )  # fmt: skip


@compiled(inline="always")
def find_row(who, row, by_entity):
    """Return where a row is read: projected ones under their number, others in the entity table."""
    return np.int64(who[row]) if by_entity else np.int64(row)


@compiled()
def contrast_fact(
    fact, batch, n, norm, length, loss_kind, share, of_head, who, by_entity, vectors, r, gradients, of_relation
):
    """Do it for one fact, and return its loss."""
    dim, tail_row, first = len(r), batch + fact, 2 * batch + fact * n
    head, tail = vectors[find_row(who, fact, by_entity)], vectors[find_row(who, tail_row, by_entity)]
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
    of_head_row, of_tail_row = gradients[fact], gradients[tail_row]
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
            if sizes.kind == 2:
                by = rate * np.float32(sizes.matrix_rate)
                update_concepts(step, sizes, steps, projections.concepts, room, by, mean_left, square_left)
        update_relations(step, sizes, steps, relations, room, rate, mean_left, square_left)
        update_entities(step, sizes, steps, entities, room, rate, mean_left, square_left)
