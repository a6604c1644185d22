# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator, misc"
"""The training step on the CPU, compiled by numba; imported only if numba is installed.

It follows the same plan as the GPU kernels, phase by phase; the phases run on all cores. No two iterations of a
parallel loop write to one place, so results do not depend on the number of threads. Parallel loops cannot read named
tuples of arrays, so each phase unpacks them first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import prange

from itransf.training.fused.compiled_ops import (
    add_scaled,
    attend,
    backpropagate_one,
    backpropagate_two,
    compiled,
    constraint_divisor,
    contrast_triple,
    dot,
    multiply_four,
    multiply_one,
    score_gradients,
    update_row,
    update_supported,
)


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
