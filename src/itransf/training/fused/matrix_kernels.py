"""GPU kernels that make the matrices of a step, multiply rows by them, and sum their gradients.

Arguments named as a field of `Plan`, `Layout`, `Options` or `Buffers` are that field; `seeds`, `drop_threshold` and
`keep_scale` belong to the dropout of `ops.dropout`. Every kernel reads the number of
its step from the counter, so that the same launch serves all steps of a plan. No two programs write to one place, and
sums have a fixed order: the same step gives the same bits.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def copy_matrices(
    counter, slot_relations, weights, matrices, first_group, slots, matrix_size: tl.constexpr, BLOCK: tl.constexpr
):
    """Copy each slot's own matrix to its group; `first_group` is the group of slot zero."""
    slot, part = tl.program_id(0), tl.program_id(1)
    relation = tl.load(slot_relations + tl.load(counter) * slots + slot)
    if relation >= 0:
        places = part * BLOCK + tl.arange(0, BLOCK)
        mask = places < matrix_size
        values = tl.load(weights + relation.to(tl.int64) * matrix_size + places, mask=mask)
        tl.store(matrices + (first_group + slot).to(tl.int64) * matrix_size + places, values, mask=mask)


@triton.jit
def read_attention(relation, scores, support, temperature, concepts, support_size, FREE: tl.constexpr, K: tl.constexpr):
    """Return a relation's support and weights, (K,) each, zero after the k-th; free weights have no softmax (FREE)."""
    places = tl.arange(0, K)
    used = places < support_size
    chosen = tl.load(support + relation * support_size + places, mask=used, other=0)
    if FREE:
        return chosen, tl.load(scores + relation.to(tl.int64) * concepts + chosen, mask=used, other=0.0)
    raw = tl.load(scores + relation.to(tl.int64) * concepts + chosen, mask=used, other=-float("inf")) / temperature
    powers = tl.exp(raw - tl.max(raw, 0))
    return chosen, powers / tl.sum(powers, 0)


@triton.jit
def compose_matrices(
    counter, slot_relations, concept_table, scores, support, attention, matrices, attention_temperature,
    first_group, slots, matrix_size: tl.constexpr, concepts, support_size,
    FREE: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Compose each slot's concepts to its group's matrix and store the attention weights."""
    slot, part = tl.program_id(0), tl.program_id(1)
    relation = tl.load(slot_relations + tl.load(counter) * slots + slot)
    if relation >= 0:
        chosen, weights = read_attention(
            relation, scores, support, attention_temperature, concepts, support_size, FREE, K
        )
        numbers = tl.arange(0, K)
        places = part * BLOCK + tl.arange(0, BLOCK)
        mask = places < matrix_size
        mixed = tl.zeros((BLOCK,), dtype=tl.float32)
        for i in range(support_size):
            concept = tl.sum(tl.where(numbers == i, chosen, 0), 0)
            weight = tl.sum(tl.where(numbers == i, weights, 0.0), 0)
            mixed += weight * tl.load(concept_table + concept.to(tl.int64) * matrix_size + places, mask=mask, other=0.0)
        group = (first_group + slot).to(tl.int64)
        tl.store(matrices + group * matrix_size + places, mixed, mask=mask)
        if part == 0:
            tl.store(attention + group * support_size + numbers, weights, mask=numbers < support_size)


@triton.jit
def multiply_rows(
    counter, group_rows, group_offsets, tile_groups, tile_starts, row_entities, source, matrices, products,
    rows, groups, tiles, dim: tl.constexpr, across: tl.constexpr, along: tl.constexpr, DIAGONAL: tl.constexpr,
    GATHER: tl.constexpr, PRECISION: tl.constexpr, TILE: tl.constexpr, OUT: tl.constexpr, INNER: tl.constexpr,
):  # fmt: skip
    """Multiply rows by their group's matrix (or its transpose, by the strides across and along) or by its diagonal.

    The rows are read from an entity table by row_entities (GATHER), or from `source` by their numbers.
    """
    step, tile, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    group = tl.load(tile_groups + step * tiles + tile)
    if group >= 0:
        start = tl.load(tile_starts + step * tiles + tile)
        end = tl.load(group_offsets + step * (groups + 1) + group + 1)
        places = start + tl.arange(0, TILE)
        inside = places < end
        numbers = tl.load(group_rows + step.to(tl.int64) * rows + places, mask=inside, other=0)
        read = numbers
        if GATHER:
            read = tl.load(row_entities + step.to(tl.int64) * rows + numbers, mask=inside, other=0)
        from_rows = source + read.to(tl.int64)[:, None] * dim
        outs = part * OUT + tl.arange(0, OUT)
        if DIAGONAL:
            x = tl.load(from_rows + outs[None, :], mask=inside[:, None] & (outs < dim)[None, :], other=0.0)
            product = x * tl.load(matrices + group.to(tl.int64) * dim + outs, mask=outs < dim, other=0.0)[None, :]
        else:
            corner = matrices + group.to(tl.int64) * dim * dim + outs[None, :] * across
            product = tl.zeros((TILE, OUT), dtype=tl.float32)
            for first in range(0, dim, INNER):
                columns = first + tl.arange(0, INNER)
                valid = columns < dim
                x = tl.load(from_rows + columns[None, :], mask=inside[:, None] & valid[None, :], other=0.0)
                w = tl.load(corner + columns[:, None] * along, mask=(outs < dim)[None, :] & valid[:, None], other=0.0)
                product += tl.dot(x, w, input_precision=PRECISION)
        where = products + numbers.to(tl.int64)[:, None] * dim + outs[None, :]
        tl.store(where, product, mask=inside[:, None] & (outs < dim)[None, :])


@triton.jit
def sum_outer_products(
    counter, group_rows, group_offsets, segment_groups, segment_starts, row_entities, entity_table, gradients,
    matrix_gradients, rows, groups, segments, dim: tl.constexpr,
    DIAGONAL: tl.constexpr, SEGMENT: tl.constexpr, TERMS: tl.constexpr, SIDE: tl.constexpr,
):  # fmt: skip
    """Sum gradient x vector over the rows of each segment: a block of its part of the gradient of the matrix.

    Of a diagonal matrix only the diagonal is summed.
    """
    step, segment = tl.load(counter), tl.program_id(0)
    group = tl.load(segment_groups + step * segments + segment)
    if group >= 0:
        start = tl.load(segment_starts + step * segments + segment)
        end = tl.minimum(tl.load(group_offsets + step * (groups + 1) + group + 1), start + SEGMENT)
        outs, columns = tl.program_id(1) * SIDE + tl.arange(0, SIDE), tl.program_id(2) * SIDE + tl.arange(0, SIDE)
        if DIAGONAL:
            columns = outs
        total = tl.zeros((1 if DIAGONAL else SIDE, SIDE), dtype=tl.float32)
        for place in range(start, end, TERMS):
            places = place + tl.arange(0, TERMS)
            inside = places < end
            numbers = tl.load(group_rows + step.to(tl.int64) * rows + places, mask=inside, other=0)
            owners = tl.load(row_entities + step.to(tl.int64) * rows + numbers, mask=inside, other=0)
            g = tl.load(
                gradients + numbers.to(tl.int64)[:, None] * dim + outs[None, :],
                mask=inside[:, None] & (outs < dim)[None, :],
                other=0.0,
            )
            x = tl.load(
                entity_table + owners.to(tl.int64)[:, None] * dim + columns[None, :],
                mask=inside[:, None] & (columns < dim)[None, :],
                other=0.0,
            )
            if DIAGONAL:
                total += tl.sum(g * x, 0)[None, :]
            else:
                total += tl.dot(tl.trans(g), x, input_precision="ieee")  # few terms at once leave tensor cores idle
        if DIAGONAL:
            where = matrix_gradients + segment.to(tl.int64) * dim + columns[None, :]
            tl.store(where, total, mask=(columns < dim)[None, :])
        else:
            where = matrix_gradients + segment.to(tl.int64) * dim * dim + outs[:, None] * dim + columns[None, :]
            tl.store(where, total, mask=(outs < dim)[:, None] & (columns < dim)[None, :])


@triton.jit
def add_segments(counter, segment_offsets, matrix_gradients, groups, matrix_size: tl.constexpr, BLOCK: tl.constexpr):
    """Add the later segments of each group to its first."""
    step, group, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    first = tl.load(segment_offsets + step * (groups + 1) + group)
    end = tl.load(segment_offsets + step * (groups + 1) + group + 1)
    if end > first + 1:
        places = part * BLOCK + tl.arange(0, BLOCK)
        mask = places < matrix_size
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for segment in range(first, end):
            total += tl.load(matrix_gradients + segment.to(tl.int64) * matrix_size + places, mask=mask, other=0.0)
        tl.store(matrix_gradients + first.to(tl.int64) * matrix_size + places, total, mask=mask)
