# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""Making matrices, multiplying rows with them, and taking gradients back."""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from itransf.training.fused.compiled.arguments import REORDERED, compiled
from itransf.training.fused.compiled.arithmetic import add_scaled, dot


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
def attend(scores, relation, support, temperature, kind, weights):
    """Write the softmax of a relation's supported scores, or these themselves where weights are free."""
    k = len(weights)
    if kind == 3:
        for i in range(k):
            weights[i] = scores[relation, support[relation, i]]
        return
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
                attend(own, relation, support, temperature, kind, weights)
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
