"""GPU kernels of one training step, forward and backward. Shapes and orders are those of `plan`.

Every kernel finds its step in the counter, so that the same launch serves all steps of a plan. No two programs write
to one place, and sums go through rows in a fixed order: the same step gives the same bits.
"""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def copy_matrices(counter, slot_relations, weights, matrices, first, slots, size: tl.constexpr, BLOCK: tl.constexpr):
    """Copy each slot's own matrix to its group; `first` is the group of slot zero."""
    slot, part = tl.program_id(0), tl.program_id(1)
    relation = tl.load(slot_relations + tl.load(counter) * slots + slot)
    if relation >= 0:
        places = part * BLOCK + tl.arange(0, BLOCK)
        mask = places < size
        values = tl.load(weights + relation.to(tl.int64) * size + places, mask=mask)
        tl.store(matrices + (first + slot).to(tl.int64) * size + places, values, mask=mask)


@triton.jit
def read_attention(relation, scores, support, temperature, concepts, k, FREE: tl.constexpr, K: tl.constexpr):
    """Return a relation's support and its weights there, (K,) each, zero behind the k-th; FREE has no softmax."""
    places = tl.arange(0, K)
    used = places < k
    chosen = tl.load(support + relation * k + places, mask=used, other=0)
    if FREE:
        return chosen, tl.load(scores + relation.to(tl.int64) * concepts + chosen, mask=used, other=0.0)
    raw = tl.load(scores + relation.to(tl.int64) * concepts + chosen, mask=used, other=-float("inf")) / temperature
    raised = tl.exp(raw - tl.max(raw, 0))
    return chosen, raised / tl.sum(raised, 0)


@triton.jit
def compose_matrices(
    counter, slot_relations, concept_table, scores, support, attention, matrices,
    temperature, first, slots, size: tl.constexpr, concepts, k,
    FREE: tl.constexpr, K: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Mix each slot's concepts into its group's matrix and keep the weights."""
    slot, part = tl.program_id(0), tl.program_id(1)
    relation = tl.load(slot_relations + tl.load(counter) * slots + slot)
    if relation >= 0:
        chosen, weights = read_attention(relation, scores, support, temperature, concepts, k, FREE, K)
        numbers = tl.arange(0, K)
        places = part * BLOCK + tl.arange(0, BLOCK)
        mask = places < size
        mixed = tl.zeros((BLOCK,), dtype=tl.float32)
        for i in range(k):
            concept = tl.sum(tl.where(numbers == i, chosen, 0), 0)
            weight = tl.sum(tl.where(numbers == i, weights, 0.0), 0)
            mixed += weight * tl.load(concept_table + concept.to(tl.int64) * size + places, mask=mask, other=0.0)
        group = (first + slot).to(tl.int64)
        tl.store(matrices + group * size + places, mixed, mask=mask)
        if part == 0:
            tl.store(attention + group * k + numbers, weights, mask=numbers < k)


@triton.jit
def multiply_rows(
    counter, group_rows, group_offsets, tile_groups, tile_starts, row_entities, source, matrices, products,
    rows, groups, tiles, dim: tl.constexpr, across: tl.constexpr, along: tl.constexpr,
    GATHER: tl.constexpr, PRECISION: tl.constexpr, TILE: tl.constexpr, OUT: tl.constexpr, INNER: tl.constexpr,
):  # fmt: skip
    """Multiply rows with their group's matrix (or its transpose, by the strides across and along).

    The rows come from the entity table through row_entities (GATHER), or stand in `source` under their numbers.
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
        corner = matrices + group.to(tl.int64) * dim * dim + outs[None, :] * across
        product = tl.zeros((TILE, OUT), dtype=tl.float32)
        for first in range(0, dim, INNER):
            columns = first + tl.arange(0, INNER)
            known = columns < dim
            x = tl.load(from_rows + columns[None, :], mask=inside[:, None] & known[None, :], other=0.0)
            w = tl.load(corner + columns[:, None] * along, mask=(outs < dim)[None, :] & known[:, None], other=0.0)
            product += tl.dot(x, w, input_precision=PRECISION)
        where = products + numbers.to(tl.int64)[:, None] * dim + outs[None, :]
        tl.store(where, product, mask=inside[:, None] & (outs < dim)[None, :])


@triton.jit
def sum_outer_products(
    counter, group_rows, group_offsets, segment_groups, segment_starts, row_entities, entities, gradients, totals,
    rows, groups, segments, dim: tl.constexpr,
    SEGMENT: tl.constexpr, TILE: tl.constexpr, OUT: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """Sum gradient x vector over the rows of each segment: a block of its part of the gradient of the matrix."""
    step, segment = tl.load(counter), tl.program_id(0)
    group = tl.load(segment_groups + step * segments + segment)
    if group >= 0:
        start = tl.load(segment_starts + step * segments + segment)
        end = tl.minimum(tl.load(group_offsets + step * (groups + 1) + group + 1), start + SEGMENT)
        outs, columns = tl.program_id(1) * OUT + tl.arange(0, OUT), tl.program_id(2) * ACROSS + tl.arange(0, ACROSS)
        total = tl.zeros((OUT, ACROSS), dtype=tl.float32)
        for place in range(start, end, TILE):
            places = place + tl.arange(0, TILE)
            inside = places < end
            numbers = tl.load(group_rows + step.to(tl.int64) * rows + places, mask=inside, other=0)
            owners = tl.load(row_entities + step.to(tl.int64) * rows + numbers, mask=inside, other=0)
            g = tl.load(
                gradients + numbers.to(tl.int64)[:, None] * dim + outs[None, :],
                mask=inside[:, None] & (outs < dim)[None, :],
                other=0.0,
            )
            x = tl.load(
                entities + owners.to(tl.int64)[:, None] * dim + columns[None, :],
                mask=inside[:, None] & (columns < dim)[None, :],
                other=0.0,
            )
            total += tl.dot(tl.trans(g), x, input_precision="ieee")  # few terms at once leave tensor cores idle
        where = totals + segment.to(tl.int64) * dim * dim + outs[:, None] * dim + columns[None, :]
        tl.store(where, total, mask=(outs < dim)[:, None] & (columns < dim)[None, :])


@triton.jit
def add_segments(counter, segment_offsets, totals, groups, size: tl.constexpr, BLOCK: tl.constexpr):
    """Add the later segments of each group to its first."""
    step, group, part = tl.load(counter), tl.program_id(0), tl.program_id(1)
    first = tl.load(segment_offsets + step * (groups + 1) + group)
    end = tl.load(segment_offsets + step * (groups + 1) + group + 1)
    if end > first + 1:
        places = part * BLOCK + tl.arange(0, BLOCK)
        mask = places < size
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for segment in range(first, end):
            total += tl.load(totals + segment.to(tl.int64) * size + places, mask=mask, other=0.0)
        tl.store(totals + first.to(tl.int64) * size + places, total, mask=mask)
