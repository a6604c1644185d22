# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""The training step on the CPU, compiled by numba; imported only if numba is installed.

It follows the same plan as the GPU kernels, phase by phase; the phases run on all cores. No two iterations of a
parallel loop write to one place, so results do not depend on the number of threads. Parallel loops cannot read named
tuples of arrays, so each phase unpacks them first. Arguments named `optimizer` hold its number in `Options`, the
learning rate and Adam's two bias corrections.
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
SMALLEST = 1e-24  # below a square root
REORDERED = {"reassoc", "contract"}  # sums may be vectorized: in an order that the compiler chooses, always the same
compiled: Callable[..., Callable[[Any], Any]] = partial(compilation.compiled, error_model="numpy")  # x / 0 is infinite
inlined = partial(compiled, forceinline=True)  # so that rows of tables need no atomic counts of references


@inlined(fastmath=REORDERED)
def dot(left, right):
    """Return the inner product of two vectors."""
    total = np.float32(0)
    for j in range(len(left)):
        total += left[j] * right[j]
    return total


@inlined()
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


@inlined()
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
def score_gradients(concepts, chosen, matrix_gradient, weights, temperature, projection, penalty):
    """Return the gradients of a relation's supported scores; free weights have a penalty on their absolute values."""
    gradients = np.empty(len(chosen), np.float32)
    mean = np.float32(0)
    for i in range(len(chosen)):
        gradients[i] = dot(concepts[chosen[i]], matrix_gradient)
        mean += weights[i] * gradients[i]
    for i in range(len(chosen)):
        if projection == 3:
            gradients[i] += penalty * np.sign(weights[i])
        else:
            gradients[i] = weights[i] * (gradients[i] - mean) / temperature
    return gradients


@compiled(inline="always")
def update_number(values, firsts, seconds, row, column, gradient, optimizer):
    """Update one number of a table and the state of the optimizer."""
    kind, rate, mean_left, square_left = optimizer
    if kind == 0:
        values[row, column] -= rate * gradient
    elif kind == 1:
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


@inlined()
def update_row(values, firsts, seconds, row, gradient, optimizer):
    """Update one row of a table."""
    kind, rate, _, _ = optimizer
    if kind == 0:
        add_scaled(values[row], -rate, gradient)
    else:
        for j in range(len(gradient)):
            update_number(values, firsts, seconds, row, j, gradient[j], optimizer)


@compiled()
def update_supported(values, firsts, seconds, row, chosen, gradients, optimizer):
    """Update the scores of a relation, given the gradients of its supported ones."""
    if optimizer[0] == 2:  # Adam updates the whole row: scores without a gradient still have momentum
        spread = np.zeros(values.shape[1], np.float32)
        for i in range(len(chosen)):
            spread[chosen[i]] = gradients[i]
        update_row(values, firsts, seconds, row, spread, optimizer)
    else:
        for i in range(len(chosen)):
            update_number(values, firsts, seconds, row, chosen[i], gradients[i], optimizer)


@inlined()
def constraint_divisor(vector, constraint):
    """Return the divisor that applies a constraint to a vector's length: 0 none, 1 unit, 2 ball."""
    if constraint == 0:
        return np.float32(1)
    norm = np.float32(math.sqrt(dot(vector, vector)))
    return max(norm, np.float32(1e-12)) if constraint == 1 else max(norm, np.float32(1))


@inlined()
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


@inlined()
def limit(vector, constraint, limited):
    """Return a vector under a constraint on its length, written into `limited` if there is one, and its divisor."""
    divisor = constraint_divisor(vector, constraint)
    if constraint == 0:
        return vector, divisor
    for j in range(len(vector)):
        limited[j] = vector[j] / divisor
    return limited, divisor


@compiled()
def turn(angle, relation, operator):
    """Write the cosines and sines of a relation's angles."""
    d = len(relation)
    for j in range(d):
        operator[j], operator[d + j] = math.cos(angle * relation[j]), math.sin(angle * relation[j])


@inlined()
def ask(operation, sign, anchor, r, query):
    """Write the query of an anchor: of a head if the sign is 1, of a tail, which undoes the relation, if it is -1."""
    d = len(anchor) // 2
    if operation == 0:
        for j in range(len(anchor)):
            query[j] = anchor[j] + sign * r[j]
    elif operation == 1:
        for j in range(len(anchor)):
            query[j] = anchor[j] * r[j]
    else:
        for j in range(d):
            query[j] = anchor[j] * r[j] - sign * anchor[d + j] * r[d + j]
            query[d + j] = sign * anchor[j] * r[d + j] + anchor[d + j] * r[j]


@inlined()
def backpropagate_query(operation, sign, anchor, r, gradient, anchor_gradient, r_gradient):
    """Add the gradients of an anchor and a relation, given that of their query."""
    d = len(anchor) // 2
    if operation == 0:
        for j in range(len(anchor)):
            anchor_gradient[j] += gradient[j]
            r_gradient[j] += sign * gradient[j]
    elif operation == 1:
        for j in range(len(anchor)):
            anchor_gradient[j] += gradient[j] * r[j]
            r_gradient[j] += gradient[j] * anchor[j]
    else:
        for j in range(d):
            real, imaginary = gradient[j], sign * gradient[d + j]
            anchor_gradient[j] += real * r[j] + imaginary * r[d + j]
            anchor_gradient[d + j] += gradient[d + j] * r[j] - sign * real * r[d + j]
            r_gradient[j] += real * anchor[j] + gradient[d + j] * anchor[d + j]
            r_gradient[d + j] += imaginary * anchor[j] - sign * real * anchor[d + j]


@inlined(fastmath=REORDERED)
def measure(query, candidate, comparison):
    """Return the distance of a candidate from a query: 1 l1, 2 l2, 3 the negated dot product, 4 sum of moduli."""
    total, d = np.float32(0), len(query) // 2
    if comparison == 1:
        for j in range(len(query)):
            total += abs(query[j] - candidate[j])
    elif comparison == 2:
        for j in range(len(query)):
            total += (query[j] - candidate[j]) ** 2
        total = np.float32(math.sqrt(total))
    elif comparison == 3:
        for j in range(len(query)):
            total -= query[j] * candidate[j]
    else:
        for j in range(d):
            real, imaginary = query[j] - candidate[j], query[d + j] - candidate[d + j]
            total += math.sqrt(max(real * real + imaginary * imaginary, np.float32(SMALLEST)))
    return total


@inlined()
def backpropagate_distance(query, candidate, comparison, distance, weight, query_gradient, candidate_gradient):
    """Add a multiple of the gradients of a distance."""
    d = len(query) // 2
    if comparison == 1:
        for j in range(len(query)):
            gap = query[j] - candidate[j]
            step = weight if gap > 0 else (-weight if gap < 0 else np.float32(0))
            query_gradient[j] += step
            candidate_gradient[j] -= step
    elif comparison == 2:
        factor = weight / distance if distance > 0 else np.float32(0)
        for j in range(len(query)):
            step = factor * (query[j] - candidate[j])
            query_gradient[j] += step
            candidate_gradient[j] -= step
    elif comparison == 3:
        add_two_scaled(query_gradient, -weight, candidate, candidate_gradient, query)
    else:
        for j in range(d):
            real, imaginary = query[j] - candidate[j], query[d + j] - candidate[d + j]
            factor = weight / np.float32(math.sqrt(max(real * real + imaginary * imaginary, np.float32(SMALLEST))))
            query_gradient[j] += factor * real
            query_gradient[d + j] += factor * imaginary
            candidate_gradient[j] -= factor * real
            candidate_gradient[d + j] -= factor * imaginary


@compiled()
def sigmoid(x):
    """Return 1 / (1 + exp(-x)) without overflow."""
    power = math.exp(-abs(x))
    return (1.0 if x >= 0 else power) / (1.0 + power)


@compiled()
def log_sigmoid(x):
    """Return log(sigmoid(x)) without overflow."""
    return min(x, 0.0) - math.log1p(math.exp(-abs(x)))


@inlined()
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


@inlined()
def contrast_triple(
    triple, batch, n, kind, loss_options, share, decay, of_head, row_entities, by_entity, skips, vectors, r, gradients,
    r_gradient, space, distances, by_distance,
):  # fmt: skip
    """Return the loss of a triple against its negatives, and whether the gradients of its rows were written.

    They are not if they are all zero and `skips` allows it.
    """
    operation, comparison, constraint = kind
    tail_row, first, one = batch + triple, 2 * batch + triple * n, np.float32(1)
    whole_head = vectors[find_row(row_entities, triple, by_entity)]
    whole_tail = vectors[find_row(row_entities, tail_row, by_entity)]
    head, head_divisor = limit(whole_head, constraint, space[0])
    tail, tail_divisor = limit(whole_tail, constraint, space[1])
    query, query_gradient = space[2], space[3]
    ask(operation, one, head, r, query)
    distance = measure(query, tail, comparison)
    target, target_gradient = query, query_gradient
    if of_head:
        target, target_gradient = space[4], space[5]
        ask(operation, -one, tail, r, target)
    for i in range(n):
        negative, _ = limit(vectors[find_row(row_entities, first + i, by_entity)], constraint, space[6])
        distances[i] = measure(target, negative, comparison)
    loss, own = loss_gradients(loss_options, distance, distances, by_distance)
    if skips and own == 0 and not by_distance.any():
        return loss, False
    query_gradient[:] = 0
    target_gradient[:] = 0
    for i in range(n):
        gradient = gradients[first + i]
        gradient[:] = 0
        if by_distance[i] != 0:
            vector = vectors[find_row(row_entities, first + i, by_entity)]
            negative, divisor = limit(vector, constraint, space[6])
            weight = np.float32(share * by_distance[i])
            backpropagate_distance(target, negative, comparison, distances[i], weight, target_gradient, gradient)
            backpropagate_constraint(gradient, vector, divisor, constraint)
    head_gradient, tail_gradient = gradients[triple], gradients[tail_row]
    for j in range(len(head)):
        head_gradient[j], tail_gradient[j] = decay * head[j], decay * tail[j]
    for j in range(len(r)):
        r_gradient[j] = decay * r[j]
    weight = np.float32(share * own)
    backpropagate_distance(query, tail, comparison, distance, weight, query_gradient, tail_gradient)
    backpropagate_query(operation, one, head, r, query_gradient, head_gradient, r_gradient)
    if of_head:
        backpropagate_query(operation, -one, tail, r, target_gradient, tail_gradient, r_gradient)
    backpropagate_constraint(head_gradient, whole_head, head_divisor, constraint)
    backpropagate_constraint(tail_gradient, whole_tail, tail_divisor, constraint)
    return loss, True


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
def run_steps(count, threads, layout, options, plan, entities, relations, projections, buffers, rates, losses):
    """Run the first `count` steps of a plan, one after the other."""
    places = np.full(max(len(entities.values), len(relations.values)), -1, np.int32)
    projects, factor = options.projection > 0, np.float32(options.matrix_lr_factor)
    vectors = buffers.vectors if projects else entities.values
    gradients = buffers.gradients if projects else buffers.entity_gradients
    for step in range(count):
        rate, mean_left, square_left = rates[step, 0], rates[step, 1], rates[step, 2]
        optimizer = (options.optimizer, rate, mean_left, square_left)
        of_matrices = (options.optimizer, rate * factor, mean_left, square_left)
        if projects:
            make_matrices(step, layout, options, plan, projections, buffers)
            project_rows(step, layout, plan, entities.values, buffers)
        contrast(step, threads, layout, options, plan, vectors, relations.values, gradients, buffers, losses)
        if projects:
            backpropagate_rows(step, layout, plan, entities.values, buffers)
            of_side = optimizer if options.projection == 2 else of_matrices
            update_projections(step, layout, options, plan, projections, buffers, of_side)
            if options.projection >= 2:
                update_concepts(step, layout, plan, projections.concepts, buffers, of_matrices)
        decay, constraint = np.float32(2 * options.l2_weight / plan.step_sizes[step, 0]), options.entity_constraint
        update_rows(
            threads, relations, plan.relations[step], buffers.relation_gradients, places, 0, np.float32(0), 0, optimizer
        )
        update_rows(
            threads, entities, plan.row_entities[step], buffers.entity_gradients, places, constraint, decay,
            2 * layout.batch, optimizer,
        )  # fmt: skip


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
def contrast(step, threads, layout, options, plan, vectors, relation_table, gradients, buffers, losses):
    """Score every triple against its negatives; write its loss and the gradients of its rows.

    Rows of a triple without a gradient are taken out of the plan, where an update would not change them.
    """
    relations, replaces_head, row_entities = plan.relations[step], plan.replaces_head[step], plan.row_entities[step]
    shares, relation_gradients, lost = plan.shares[step], buffers.relation_gradients, losses[step]
    batch, n, width, angle = layout.batch, layout.negatives, vectors.shape[1], np.float32(options.angle)
    kind = (options.operation, options.comparison, options.projected_constraint)
    loss_options = (options.adversarial, options.margin, options.adversarial_temperature)
    decay = np.float32(2 * options.l2_weight / plan.step_sizes[step, 0])
    turns, by_entity = options.operation == 3, options.projection == 0
    skips = by_entity and options.optimizer == 0 and decay == 0
    for thread in prange(threads):
        space, numbers = np.empty((9, width), np.float32), np.empty((2, n), np.float32)
        r, r_gradient, last = space[7], space[8], -1
        for triple in range(batch * thread // threads, batch * (thread + 1) // threads):
            relation = relations[triple]
            if relation < 0:
                break
            if not turns:
                r, r_gradient = relation_table[relation], relation_gradients[triple]
            elif relation != last:
                turn(angle, relation_table[relation], r)
            last = relation
            lost[triple], has_gradient = contrast_triple(
                triple, batch, n, kind, loss_options, shares[triple], decay, replaces_head[triple] == 1, row_entities,
                by_entity, skips, vectors, r, gradients, r_gradient, space, numbers[0], numbers[1],
            )  # fmt: skip
            if turns and has_gradient:
                for j in range(width // 2):
                    by_angle = r[j] * r_gradient[width // 2 + j] - r[width // 2 + j] * r_gradient[j]
                    relation_gradients[triple, j] = angle * by_angle
            if not has_gradient:
                relations[triple] = row_entities[triple] = row_entities[batch + triple] = -1
                row_entities[2 * batch + triple * n : 2 * batch + (triple + 1) * n] = -1


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
def update_projections(step, layout, options, plan, projections, buffers, optimizer):
    """Add the later segments of each group to its first; update the group's own matrix, or its scores of concepts."""
    slots, projection, temperature = layout.slots, options.projection, np.float32(options.attention_temperature)
    penalty, offsets = np.float32(options.l1_weight / plan.step_sizes[step, 0]), plan.slot_offsets[step]
    slot_relations, segments, totals = plan.slot_relations[step], plan.segment_offsets[step], buffers.matrix_gradients
    head, head_firsts, head_seconds = projections.head
    tail, tail_firsts, tail_seconds = projections.tail
    head_support, tail_support = projections.head_support, projections.tail_support
    concepts, attention = projections.concepts.values, buffers.attention
    for group in prange(layout.groups):
        relation, on_tail = slot_relations[group % slots], group >= slots
        if relation >= 0:
            gradient = totals[segments[group]].reshape(-1)
            for segment in range(segments[group] + 1, segments[group + 1]):
                add_scaled(gradient, np.float32(1), totals[segment].reshape(-1))
            values = tail if on_tail else head
            firsts, seconds = (tail_firsts if on_tail else head_firsts), (tail_seconds if on_tail else head_seconds)
            if projection == 1:
                update_row(values, firsts, seconds, relation, gradient, optimizer)
            else:
                chosen = (tail_support if on_tail else head_support)[relation]
                own_penalty = penalty * np.float32(offsets[group % slots + 1] - offsets[group % slots])
                by_score = score_gradients(
                    concepts, chosen, gradient, attention[group], temperature, projection, own_penalty
                )
                update_supported(values, firsts, seconds, relation, chosen, by_score, optimizer)


@compiled(parallel=True)
def update_concepts(step, layout, plan, concepts, buffers, optimizer):
    """Sum the gradients of the matrices that use each concept, by their weights, and update the concept."""
    values, firsts, seconds = concepts
    k, uses, offsets = layout.support_size, plan.uses[step], plan.use_offsets[step]
    segments, attention, totals = plan.segment_offsets[step], buffers.attention, buffers.matrix_gradients
    for concept in prange(len(values)):
        start, end = offsets[concept], offsets[concept + 1]
        if start < end or optimizer[0] == 2:  # Adam's momentum moves concepts without a gradient, too
            total = np.zeros(values.shape[1], np.float32)
            for n in range(start, end):
                group, place = uses[n] // k, uses[n] % k
                add_scaled(total, attention[group, place], totals[segments[group]].reshape(-1))
            update_row(values, firsts, seconds, concept, total, optimizer)


@compiled(parallel=True)
def update_rows(threads, table, keys, gradients, places, constraint, decay, decayed, optimizer):
    """Sum the gradients of every row in the first place of its key, update the row, and constrain its length.

    Each thread has a range of keys. The first `decayed` places add a multiple of the row itself.
    """
    values, firsts, seconds = table
    for thread in prange(threads):
        begin, end = len(values) * thread // threads, len(values) * (thread + 1) // threads
        for n in range(len(keys)):
            key = keys[n]
            if begin <= key < end:
                if n < decayed and decay != 0:
                    add_scaled(gradients[n], decay, values[key])
                if places[key] < 0:
                    places[key] = n
                else:
                    add_scaled(gradients[places[key]], np.float32(1), gradients[n])
        for n in range(len(keys)):
            key = keys[n]
            if begin <= key < end and places[key] == n:
                places[key] = -1
                update_row(values, firsts, seconds, key, gradients[n], optimizer)
                divisor = constraint_divisor(values[key], constraint)
                if divisor != 1:
                    values[key] /= divisor
