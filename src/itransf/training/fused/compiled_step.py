# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""The training step on the CPU, compiled by numba; imported only if numba is installed.

It follows the same plan as the GPU kernels, phase by phase; the phases run on all cores. No two iterations of a
parallel loop write to one place, so results do not depend on the number of threads. Parallel loops cannot read named
tuples of arrays, so each phase unpacks them first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import prange

from itransf.ops import compilation
from itransf.training.optimizers import EPSILON, MOMENTS

BETA_MEAN, BETA_SQUARE = MOMENTS
REORDERED = {"reassoc", "contract"}  # sums may be vectorized: in an order that the compiler chooses, always the same
compiled: Callable[..., Callable[[Any], Any]] = partial(compilation.compiled, error_model="numpy")  # x / 0 is infinite


@compiled(fastmath=REORDERED)
def dot(left, right):
    """Return the inner product of two vectors."""
    total = np.float32(0)
    for j in range(len(left)):
        total += left[j] * right[j]
    return total


@compiled()
def add_scaled(target, weight, source):
    """Add a multiple of one vector to another."""
    for j in range(len(target)):
        target[j] += weight * source[j]


@compiled(fastmath=REORDERED)
def multiply_four(matrix, a, b, c, d, ya, yb, yc, yd):
    """Multiply four vectors by a matrix, reading it once."""
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
    """Multiply a vector by a matrix, or by a diagonal given as its only row."""
    if len(matrix) < len(vector):
        for j in range(len(vector)):
            product[j] = matrix[0, j] * vector[j]
        return
    for o in range(matrix.shape[0]):
        product[o] = dot(matrix[o], vector)


@compiled()
def backpropagate_two(matrix, matrix_gradient, x, y, g, h, x_gradient, y_gradient):
    """Backpropagate the gradients of two products, reading the matrix and writing its gradient once."""
    x_gradient[:] = 0
    y_gradient[:] = 0
    for o in range(len(g)):
        row, sums, by_x, by_y = matrix[o], matrix_gradient[o], g[o], h[o]
        for j in range(len(row)):
            x_gradient[j] += by_x * row[j]
            y_gradient[j] += by_y * row[j]
            sums[j] += by_x * x[j] + by_y * y[j]


@compiled()
def backpropagate_one(matrix, matrix_gradient, vector, gradient, vector_gradient):
    """Write matrix' @ gradient, and add gradient x vector to the gradient of the matrix, which may be a diagonal."""
    if len(matrix) < len(vector):
        for j in range(len(vector)):
            vector_gradient[j] = matrix[0, j] * gradient[j]
            matrix_gradient[0, j] += gradient[j] * vector[j]
        return
    vector_gradient[:] = 0
    for o in range(len(gradient)):
        if gradient[o] != 0:
            add_two_scaled(vector_gradient, gradient[o], matrix[o], matrix_gradient[o], vector)


@compiled()
def add_two_scaled(first, weight, first_source, second, second_source):
    """Add the same multiple of two vectors to two others."""
    for j in range(len(first)):
        first[j] += weight * first_source[j]
        second[j] += weight * second_source[j]


@compiled()
def attend(scores, relation, support, temperature, projection, weights):
    """Write the softmax of a relation's supported scores, or the scores themselves if weights are free."""
    k = len(weights)
    if projection == 3:
        for i in range(k):
            weights[i] = scores[relation, support[relation, i]]
        return
    highest = scores[relation, support[relation, 0]]
    for i in range(1, k):
        highest = max(highest, scores[relation, support[relation, i]])
    total = np.float32(0)
    for i in range(k):
        weights[i] = math.exp((scores[relation, support[relation, i]] - highest) / temperature)
        total += weights[i]
    for i in range(k):
        weights[i] /= total


@compiled()
def score_gradients(concepts, chosen, matrix_gradient, weights, temperature):
    """Return the gradients of a relation's supported scores."""
    gradients = np.empty(len(chosen), np.float32)
    mean = np.float32(0)
    for i in range(len(chosen)):
        gradients[i] = dot(concepts[chosen[i]], matrix_gradient)
        mean += weights[i] * gradients[i]
    for i in range(len(chosen)):
        gradients[i] = weights[i] * (gradients[i] - mean) / temperature
    return gradients


@compiled(inline="always")
def update_number(values, firsts, seconds, row, column, gradient, optimizer, rate, mean_left, square_left):
    """Update one number of a table and the state of the optimizer."""
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
def update_row(values, firsts, seconds, row, gradient, optimizer, rate, mean_left, square_left):
    """Update one row of a table."""
    if optimizer == 0:
        add_scaled(values[row], -rate, gradient)
    else:
        for j in range(len(gradient)):
            update_number(values, firsts, seconds, row, j, gradient[j], optimizer, rate, mean_left, square_left)


@compiled()
def update_supported(values, firsts, seconds, row, chosen, gradients, optimizer, rate, mean_left, square_left):
    """Update the scores of a relation, given the gradients of its supported ones."""
    if optimizer == 2:  # Adam updates the whole row: scores without a gradient still have momentum
        spread = np.zeros(values.shape[1], np.float32)
        for i in range(len(chosen)):
            spread[chosen[i]] = gradients[i]
        update_row(values, firsts, seconds, row, spread, optimizer, rate, mean_left, square_left)
    else:
        for i in range(len(chosen)):
            update_number(
                values, firsts, seconds, row, chosen[i], gradients[i], optimizer, rate, mean_left, square_left
            )


@compiled()
def constraint_divisor(vector, constraint):
    """Return the divisor that applies a constraint to a vector's length: 0 none, 1 unit, 2 ball."""
    if constraint == 0:
        return np.float32(1)
    norm = np.float32(math.sqrt(dot(vector, vector)))
    return max(norm, np.float32(1e-12)) if constraint == 1 else max(norm, np.float32(1))


@compiled()
def backpropagate_constraint(gradient, vector, divisor, constraint):
    """Backpropagate a gradient through the constraint on a vector's length, in place."""
    if constraint == 0:
        return
    along = np.float32(0)
    # inside the ball the divisor is a constant
    if constraint != 2 or divisor > 1 or math.sqrt(dot(vector, vector)) >= 1:
        along = dot(gradient, vector) / (divisor * divisor)
    for j in range(len(gradient)):
        gradient[j] = (gradient[j] - vector[j] * along) / divisor


@compiled(fastmath=REORDERED)
def measure(vector, divisor, target, norm):
    """Return the distance of vector / divisor from a target."""
    total = np.float32(0)
    if norm == 1:
        for j in range(len(vector)):
            total += abs(vector[j] / divisor - target[j])
        return total
    for j in range(len(vector)):
        gap = vector[j] / divisor - target[j]
        total += gap * gap
    return np.float32(math.sqrt(total))


@compiled(inline="always")
def measure_gradient(gap, distance, norm):
    """Return the gradient of a distance by one dimension."""
    if norm == 1:
        return np.float32(1) if gap > 0 else (np.float32(-1) if gap < 0 else np.float32(0))
    return gap / distance if distance > 0 else np.float32(0)


@compiled()
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    power = math.exp(-abs(x))
    return (1.0 if x >= 0 else power) / (1.0 + power)


@compiled()
def log_sigmoid(x):
    """Return log(sigmoid(x)) without overflow."""
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@compiled()
def loss_gradients(loss_options, distance, negative_distances, gradients):
    """Return the loss of a triple and its gradient by the triple's distance; write those by its negatives'."""
    adversarial, margin, temperature = loss_options
    n = len(negative_distances)
    if adversarial:
        highest = -negative_distances.min() * temperature
        total = 0.0
        for j in range(n):
            gradients[j] = math.exp(-negative_distances[j] * temperature - highest)
            total += gradients[j]
        loss = log_sigmoid(margin - distance)
        for j in range(n):
            weight = gradients[j] / total
            loss += weight * log_sigmoid(negative_distances[j] - margin)
            gradients[j] = -weight * sigmoid(margin - negative_distances[j]) / 2
        return -loss / 2, sigmoid(distance - margin) / 2
    loss, gradient = 0.0, 0.0
    for j in range(n):
        violation = margin + distance - negative_distances[j]
        gradients[j] = -1.0 / n if violation > 0 else 0.0
        loss += max(violation, 0.0) / n
        gradient -= gradients[j]
    return loss, gradient


@compiled(inline="always")
def find_row(entities, row, by_entity):
    """Return the place of a row's vector: its number if it was projected, else its entity."""
    return np.int64(entities[row]) if by_entity else np.int64(row)


@compiled()
def contrast_triple(
    triple, batch, n, norm, constraint, loss_options, share, decay, of_head, row_entities, by_entity, vectors, r,
    gradients, relation_gradient,
):  # fmt: skip
    """Return the loss of a triple against its negatives; write the gradients of its rows."""
    dim, tail_row, first = len(r), batch + triple, 2 * batch + triple * n
    head = vectors[find_row(row_entities, triple, by_entity)]
    tail = vectors[find_row(row_entities, tail_row, by_entity)]
    head_divisor, tail_divisor = constraint_divisor(head, constraint), constraint_divisor(tail, constraint)
    gap, target = np.empty(dim, np.float32), np.empty(dim, np.float32)
    for j in range(dim):
        h, t = head[j] / head_divisor, tail[j] / tail_divisor
        gap[j] = h + r[j] - t
        target[j] = t - r[j] if of_head else h + r[j]
    distance = measure(gap, np.float32(1), np.zeros(dim, np.float32), norm)
    distances, by_distance, divisors = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)
    for i in range(n):
        negative = vectors[find_row(row_entities, first + i, by_entity)]
        divisors[i] = constraint_divisor(negative, constraint)
        distances[i] = measure(negative, divisors[i], target, norm)
    loss, own = loss_gradients(loss_options, distance, distances, by_distance)
    target_gradient = np.zeros(dim, np.float32)
    for i in range(n):
        backpropagate_negative(
            vectors[find_row(row_entities, first + i, by_entity)], divisors[i], target, distances[i],
            np.float32(share * by_distance[i]), norm, constraint, gradients[first + i], target_gradient,
        )  # fmt: skip
    head_gradient, tail_gradient = gradients[triple], gradients[tail_row]
    for j in range(dim):
        direct = np.float32(share * own) * measure_gradient(gap[j], distance, norm)
        h, t = head[j] / head_divisor, tail[j] / tail_divisor
        head_gradient[j] = decay * h + direct + (np.float32(0) if of_head else target_gradient[j])
        tail_gradient[j] = decay * t + (target_gradient[j] if of_head else np.float32(0)) - direct
        relation_gradient[j] = decay * r[j] + direct + (-target_gradient[j] if of_head else target_gradient[j])
    backpropagate_constraint(head_gradient, head, head_divisor, constraint)
    backpropagate_constraint(tail_gradient, tail, tail_divisor, constraint)
    return loss


@compiled()
def backpropagate_negative(vector, divisor, target, distance, by_distance, norm, constraint, gradient, target_gradient):
    """Write the gradient of a negative's row, and add its part to the gradient of the target."""
    if by_distance == 0:
        gradient[:] = 0
        return
    for j in range(len(vector)):
        gradient[j] = by_distance * measure_gradient(vector[j] / divisor - target[j], distance, norm)
        target_gradient[j] -= gradient[j]
    backpropagate_constraint(gradient, vector, divisor, constraint)


class Table(NamedTuple):
    """A parameter and its two optimizer states, as arrays (n, d)."""

    values: Any
    firsts: Any
    seconds: Any


class ProjectionTables(NamedTuple):
    """Matrices or attention scores with supports of each side, and the shared concepts."""

    head: Table
    tail: Table
    head_support: Any
    tail_support: Any
    concepts: Table


@compiled()
def run_steps(count, layout, options, plan, entities, relations, projections, buffers, rates, losses):
    """Run the first `count` steps of a plan, one after the other."""
    for step in range(count):
        rate, mean_left, square_left = rates[step, 0], rates[step, 1], rates[step, 2]
        if options.projection == 0:
            contrast(
                step, layout, options, plan, entities.values, True, relations.values, buffers.entity_gradients,
                buffers, losses,
            )  # fmt: skip
        else:
            make_matrices(step, layout, options, plan, projections, buffers)
            project_rows(step, layout, plan, entities.values, buffers)
            contrast(
                step, layout, options, plan, buffers.vectors, False, relations.values, buffers.gradients, buffers,
                losses,
            )  # fmt: skip
            backpropagate_rows(step, layout, plan, entities.values, buffers)
            add_segments(step, layout, plan, buffers)
            update_projections(step, layout, options, plan, projections, buffers, rate, mean_left, square_left)
            if options.projection >= 2:
                concept_rate = rate * np.float32(options.matrix_lr_factor)
                update_concepts(
                    step, layout, options, plan, projections.concepts, buffers, concept_rate, mean_left, square_left
                )
        update_relations(step, options, plan, relations, buffers, rate, mean_left, square_left)
        update_entities(step, options, plan, entities, buffers, rate, mean_left, square_left)


@compiled(parallel=True)
def make_matrices(step, layout, options, plan, projections, buffers):
    """Compose or copy the matrix of every group."""
    slots, k, projection = layout.slots, layout.support_size, options.projection
    temperature = np.float32(options.attention_temperature)
    slot_relations, matrices, attention = plan.slot_relations[step], buffers.matrices, buffers.attention
    head, tail, concepts = projections.head.values, projections.tail.values, projections.concepts.values
    head_support, tail_support = projections.head_support, projections.tail_support
    for group in prange(layout.groups):
        relation = slot_relations[group % slots]
        if relation >= 0:
            own = tail if group >= slots else head
            support = tail_support if group >= slots else head_support
            matrix = matrices[group].reshape(-1)
            if projection == 1:
                matrix[:] = own[relation]
            else:
                weights = attention[group]
                attend(own, relation, support, temperature, projection, weights)
                matrix[:] = 0
                for i in range(k):
                    add_scaled(matrix, weights[i], concepts[support[relation, i]])


@compiled(parallel=True)
def project_rows(step, layout, plan, entities, buffers):
    """Multiply the rows of every segment by their group's matrix."""
    groups, starts, offsets = plan.segment_groups[step], plan.segment_starts[step], plan.group_offsets[step]
    used = plan.segment_offsets[step, layout.groups]
    rows, row_entities, size = plan.group_rows[step], plan.row_entities[step], layout.segment
    matrices, vectors = buffers.matrices, buffers.vectors
    for segment in prange(used):
        start, matrix = starts[segment], matrices[groups[segment]]
        end = min(start + size, offsets[groups[segment] + 1])
        whole = start + (end - start) // 4 * 4 if len(matrix) == matrix.shape[1] else start  # none of diagonals
        for n in range(start, whole, 4):
            a, b, c, d = rows[n], rows[n + 1], rows[n + 2], rows[n + 3]
            multiply_four(
                matrix,
                entities[row_entities[a]], entities[row_entities[b]],
                entities[row_entities[c]], entities[row_entities[d]],
                vectors[a], vectors[b], vectors[c], vectors[d],
            )  # fmt: skip
        for n in range(whole, end):
            multiply_one(matrix, entities[row_entities[rows[n]]], vectors[rows[n]])


@compiled(parallel=True)
def contrast(step, layout, options, plan, vectors, by_entity, relation_table, gradients, buffers, losses):
    """Score every triple against its negatives; write its loss and the gradients of its rows."""
    relations, replaces_head, row_entities = plan.relations[step], plan.replaces_head[step], plan.row_entities[step]
    shares, relation_gradients, lost = plan.shares[step], buffers.relation_gradients, losses[step]
    batch, n, norm, constraint = layout.batch, layout.negatives, options.p_norm, options.projected_constraint
    loss_options = (options.adversarial, options.margin, options.adversarial_temperature)
    decay = np.float32(2 * options.l2_weight / plan.step_sizes[step, 0])
    for triple in prange(batch):
        if relations[triple] >= 0:
            lost[triple] = contrast_triple(
                np.int64(triple), batch, n, norm, constraint, loss_options, shares[triple], decay,
                replaces_head[triple] == 1, row_entities, by_entity, vectors, relation_table[relations[triple]],
                gradients, relation_gradients[triple],
            )  # fmt: skip


@compiled(parallel=True)
def backpropagate_rows(step, layout, plan, entities, buffers):
    """Backpropagate every segment's gradients through its matrix, and sum its part of the matrix's gradient."""
    groups, starts, offsets = plan.segment_groups[step], plan.segment_starts[step], plan.group_offsets[step]
    used = plan.segment_offsets[step, layout.groups]
    rows, row_entities, size = plan.group_rows[step], plan.row_entities[step], layout.segment
    matrices, totals, inputs = buffers.matrices, buffers.matrix_gradients, buffers.entity_gradients
    gradients = buffers.gradients
    for segment in prange(used):
        start, matrix, total = starts[segment], matrices[groups[segment]], totals[segment]
        end = min(start + size, offsets[groups[segment] + 1])
        total[:] = 0
        whole = start + (end - start) // 2 * 2 if len(matrix) == matrix.shape[1] else start
        for n in range(start, whole, 2):
            a, b = rows[n], rows[n + 1]
            backpropagate_two(
                matrix, total, entities[row_entities[a]], entities[row_entities[b]],
                gradients[a], gradients[b], inputs[a], inputs[b],
            )  # fmt: skip
        for n in range(whole, end):
            backpropagate_one(matrix, total, entities[row_entities[rows[n]]], gradients[rows[n]], inputs[rows[n]])


@compiled(parallel=True)
def add_segments(step, layout, plan, buffers):
    """Add the later segments of each group to its first."""
    segments, totals = plan.segment_offsets[step], buffers.matrix_gradients
    for group in prange(layout.groups):
        for segment in range(segments[group] + 1, segments[group + 1]):
            add_scaled(totals[segments[group]].reshape(-1), np.float32(1), totals[segment].reshape(-1))


@compiled(parallel=True)
def update_projections(step, layout, options, plan, projections, buffers, rate, mean_left, square_left):
    """Update every slot's own matrix, its attention scores, or its free weights with their l1 penalty."""
    slots, projection, optimizer = layout.slots, options.projection, options.optimizer
    temperature = np.float32(options.attention_temperature)
    penalty, offsets = np.float32(options.l1_weight / plan.step_sizes[step, 0]), plan.slot_offsets[step]
    matrix_rate = rate * np.float32(options.matrix_lr_factor)
    slot_relations, segments, totals = plan.slot_relations[step], plan.segment_offsets[step], buffers.matrix_gradients
    head, head_firsts, head_seconds = projections.head
    tail, tail_firsts, tail_seconds = projections.tail
    head_support, tail_support = projections.head_support, projections.tail_support
    concepts, attention = projections.concepts.values, buffers.attention
    for group in prange(layout.groups):
        relation, on_tail = slot_relations[group % slots], group >= slots
        if relation >= 0:
            gradient = totals[segments[group]].reshape(-1)
            values = tail if on_tail else head
            firsts, seconds = (tail_firsts if on_tail else head_firsts), (tail_seconds if on_tail else head_seconds)
            if projection == 1:
                update_row(values, firsts, seconds, relation, gradient, optimizer, matrix_rate, mean_left, square_left)
            else:
                chosen = (tail_support if on_tail else head_support)[relation]
                if projection == 3:
                    count = np.float32(offsets[group % slots + 1] - offsets[group % slots])
                    by_score = penalty * count * np.sign(attention[group])
                    for i in range(len(chosen)):
                        by_score[i] += dot(concepts[chosen[i]], gradient)
                else:
                    by_score = score_gradients(concepts, chosen, gradient, attention[group], temperature)
                score_rate = matrix_rate if projection == 3 else rate
                update_supported(
                    values, firsts, seconds, relation, chosen, by_score, optimizer, score_rate, mean_left, square_left
                )


@compiled(parallel=True)
def update_concepts(step, layout, options, plan, concepts, buffers, rate, mean_left, square_left):
    """Sum the gradients of the matrices that use each concept, by their weights, and update the concept."""
    values, firsts, seconds = concepts
    k, optimizer, uses, offsets = layout.support_size, options.optimizer, plan.uses[step], plan.use_offsets[step]
    segments, attention, totals = plan.segment_offsets[step], buffers.attention, buffers.matrix_gradients
    for concept in prange(len(values)):
        start, end = offsets[concept], offsets[concept + 1]
        if start < end or optimizer == 2:  # Adam's momentum moves concepts without a gradient, too
            total = np.zeros(values.shape[1], np.float32)
            for n in range(start, end):
                group, place = uses[n] // k, uses[n] % k
                add_scaled(total, attention[group, place], totals[segments[group]].reshape(-1))
            update_row(values, firsts, seconds, concept, total, optimizer, rate, mean_left, square_left)


@compiled(parallel=True)
def update_relations(step, options, plan, relations, buffers, rate, mean_left, square_left):
    """Update the embedding of every relation of a step."""
    values, firsts, seconds = relations
    optimizer, gradients = options.optimizer, buffers.relation_gradients
    keys, offsets = plan.slot_relations[step], plan.slot_offsets[step]
    for slot in prange(len(keys)):
        if keys[slot] >= 0:
            total = np.zeros(values.shape[1], np.float32)
            for triple in range(offsets[slot], offsets[slot + 1]):
                add_scaled(total, np.float32(1), gradients[triple])
            update_row(values, firsts, seconds, keys[slot], total, optimizer, rate, mean_left, square_left)


@compiled(parallel=True)
def update_entities(step, options, plan, entities, buffers, rate, mean_left, square_left):
    """Update the embedding of every entity of a step and apply the constraint on its length."""
    values, firsts, seconds = entities
    optimizer, constraint, gradients = options.optimizer, options.entity_constraint, buffers.entity_gradients
    keys, offsets, rows = plan.entity_keys[step], plan.entity_offsets[step], plan.entity_rows[step]
    decay, own = np.float32(2 * options.l2_weight / plan.step_sizes[step, 0]), 2 * len(plan.relations[step])
    for place in prange((keys >= 0).sum()):
        key = keys[place]
        total = np.zeros(values.shape[1], np.float32)
        for n in range(offsets[place], offsets[place + 1]):
            add_scaled(total, np.float32(1), gradients[rows[n]])
            if rows[n] < own:  # a head or a tail
                add_scaled(total, decay, values[key])
        update_row(values, firsts, seconds, key, total, optimizer, rate, mean_left, square_left)
        divisor = constraint_divisor(values[key], constraint)
        if divisor != 1:
            values[key] /= divisor
