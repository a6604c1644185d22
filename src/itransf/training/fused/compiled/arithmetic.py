# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""Vectors, lengths, and the change of a table by an optimiser."""

from __future__ import annotations

import math

import numpy as np

from itransf.training.fused.compiled.arguments import REORDERED, compiled
from itransf.training.optimizers import EPSILON, MOMENTS

BETA_MEAN, BETA_SQUARE = MOMENTS


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


@compiled()
def measure_length(vector, length):
    """Return what a vector is divided by to have its length: 0 none, 1 unit, 2 ball."""
    if length == 0:
        return np.float32(1)
    norm = np.float32(math.sqrt(dot(vector, vector)))
    return max(norm, np.float32(1e-12)) if length == 1 else max(norm, np.float32(1))
