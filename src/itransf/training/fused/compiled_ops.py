# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""Arithmetic of a training step on the CPU, for one row or triple at a time; compiled by numba."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

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
