"""Plans of many batches: all index lists that training steps need, computed at once in a few large operations.

A step takes a batch of B triples, sorted by relation, with n replacements each. Its rows are the entities to project:
row i is the head of triple i, row B + i its tail, and row 2 B + i n + j its j-th replacement; if the triples of a
relation share their replacements, i is the relation's slot. A relation's place among those of its step is its slot.
Rows that are multiplied by the same matrix form a group: slot u of the p-th projection is group p U + u. Groups are cut
into tiles (rows multiplied together) and segments (rows whose outer products are summed together).

Shapes: S steps, B triples, n replacements, U slots, N rows (B (2 + n), or 2 B + U n if they are shared), G groups,
T tiles, M segments, V distinct entities of a step. Unused entries are -1 or come after the last offset.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from itransf.config import Config
from itransf.training.negatives import Corruption, SharedCorruption

PLANNED_ROWS = {"cuda": 1 << 24, "cpu": 1 << 18}  # rows planned at once, which bounds the memory of a plan


class Layout(NamedTuple):
    """Sizes of a step.

    Attributes:
        entities: Entities of the graph.
        batch: Triples of a step (B).
        negatives: Replacements of a triple (n).
        shared: Whether the triples of a slot share their replacements.
        slots: Maximum number of relations of a step (U).
        rows: Rows of a step (N).
        distinct: Maximum number of distinct entities of a step (V); 0 if they are not listed.
        projections: Number of projections: 0, 1 if both sides share theirs, or 2.
        groups: Matrices of a step (G).
        tile: Maximum number of rows of a tile.
        tiles: Maximum number of tiles of a step (T).
        segment: Maximum number of rows of a segment.
        segments: Maximum number of segments of a step (M).
        concepts: Shared matrices (m), 0 if each relation has its own.
        support_size: Concepts that a side of a relation uses (k).
        dim: Numbers of an entity's embedding (d).
        relation_dim: Numbers of a relation's.
        matrix_size: Numbers of a matrix: d * d, or d of a diagonal.
    """

    entities: int
    batch: int
    negatives: int
    shared: bool
    slots: int
    rows: int
    distinct: int
    projections: int
    groups: int
    tile: int
    tiles: int
    segment: int
    segments: int
    concepts: int
    support_size: int
    dim: int
    relation_dim: int
    matrix_size: int


def count_rows(batch: int, slots: int, negatives: int, shared: bool) -> int:
    """Return the number of rows of a step, N."""
    return 2 * batch + (slots if shared else batch) * negatives


def count_planned_batches(triples: int, relations: int, config: Config, device: str) -> int:
    """Return the number of batches drawn at once, the same for plain and fused steps.

    The largest part of a plan are its rows, or the masks of shared replacements, four of which take as much as a row.
    """
    batch, negatives = min(config.training.batch_size, triples), config.negatives.per_triple
    rows = count_rows(batch, min(relations, batch), negatives, config.negatives.shared)
    most = PLANNED_ROWS.get(device, PLANNED_ROWS["cpu"]) // max(rows, batch * negatives // 4)
    return max(1, min(most, -(-triples // batch)))


class Plan(NamedTuple):
    """Steps, as int32 tensors (`masked`: int8, `shares`: float32) whose first dimension is the step.

    Attributes:
        relations: Relation of each triple, (S, B); -1 fills up the last step.
        replaces_head: 1 if the replacements of a triple stand for its head, (S, B).
        step_sizes: Number of triples of each step, (S, 1).
        shares: Share of each triple in the loss of its step, (S, B).
        triple_slots: Slot of each triple, (S, B).
        masked: 1 if a shared replacement is masked for a triple, (S, B n); (S, 0) if none is shared.
        slot_relations: Relation of each slot, (S, U).
        slot_offsets: Start of each slot's triples, (S, U + 1).
        row_entities: Entity of each row, (S, N).
        group_rows: Rows ordered by group, (S, N).
        group_offsets: Start of each group in group_rows, (S, G + 1).
        tile_groups: Group of each tile, (S, T).
        tile_starts: Start of each tile in group_rows, (S, T).
        segment_groups: Group of each segment, (S, M).
        segment_starts: Start of each segment in group_rows, (S, M).
        segment_offsets: First segment of each group, (S, G + 1).
        entity_keys: Distinct entities, (S, V).
        entity_offsets: Start of each entity's rows in entity_rows, (S, V + 1).
        entity_rows: Rows ordered by entity, (S, N).
        uses: Uses of concepts ordered by concept, each as group * k + place in the support, (S, G k).
        use_offsets: Start of each concept's uses, (S, m + 1).
    """

    relations: Tensor
    replaces_head: Tensor
    step_sizes: Tensor
    shares: Tensor
    triple_slots: Tensor
    masked: Tensor
    slot_relations: Tensor
    slot_offsets: Tensor
    row_entities: Tensor
    group_rows: Tensor
    group_offsets: Tensor
    tile_groups: Tensor
    tile_starts: Tensor
    segment_groups: Tensor
    segment_starts: Tensor
    segment_offsets: Tensor
    entity_keys: Tensor
    entity_offsets: Tensor
    entity_rows: Tensor
    uses: Tensor
    use_offsets: Tensor

    def new_steps(self, steps: int) -> Plan:
        """Return an unused plan of `steps` steps with the shapes of this one."""
        return Plan._make(tensor.new_full((steps, *tensor.shape[1:]), -1) for tensor in self)

    def copy_into(self, plan: Plan) -> None:
        """Overwrite the first steps of a plan, whose addresses in memory stay the same."""
        for source, target in zip(self, plan, strict=True):
            target[: len(source)].copy_(source)


def sort_by_relation(triples: Tensor, relations: Tensor, batch: int) -> Tensor:
    """Return the triples (indices, in the order of batches) sorted by relation inside each batch."""
    steps = torch.arange(len(triples), device=triples.device) // batch
    return triples[torch.argsort(steps * (relations.max() + 1) + relations, stable=True)]


def make_plan(
    triples: Tensor, weights: Tensor, corruption: Corruption | SharedCorruption, supports: list[Tensor], layout: Layout
) -> Plan:
    """Plan the steps.

    Args:
        triples: Heads, relations and tails, (F, 3), sorted by relation inside each batch.
        weights: Weights of the triples in the loss, and factors of their losses, (2, F).
        corruption: Replacements of the triples.
        supports: Concepts of every relation on each projection, (r, k) each; empty without concepts.
        layout: Sizes of a step.
    """
    steps, n = -(-len(triples) // layout.batch), layout.negatives
    heads, relations, tails = (_fill(column, steps, layout.batch, -1) for column in triples.unbind(1))
    slots, slot_relations, slot_offsets = _list_runs(relations, relations >= 0, layout.slots)
    weights, factors = (_fill(values, steps, layout.batch, 0) for values in weights)
    masked = relations.new_zeros(steps, 0)
    if isinstance(corruption, SharedCorruption):
        masked = _fill(corruption.masked.flatten().to(torch.int8), steps, layout.batch * n, 0)
        owners, of_head, replacements = _spread_groups(corruption, slots, layout)
        replaces_head = of_head.gather(1, slots.clamp_max(layout.slots - 1))
    else:
        owners, of_head = slots, _fill(corruption.replaces_head.long(), steps, layout.batch, 0)
        replacements = _fill(corruption.replacements.flatten(), steps, layout.batch * n, -1)
        replaces_head = of_head
    row_entities = torch.cat([heads, tails, replacements], 1)
    group_rows, group_offsets = _group_rows(slots, owners, of_head, layout)
    tile_groups, tile_starts, _ = _cut_groups(group_offsets, layout.tile, layout.tiles)
    plan = Plan(  # in the order of its attributes
        relations, replaces_head, (relations >= 0).sum(1, keepdim=True), weights, slots, masked,
        slot_relations, slot_offsets, row_entities, group_rows, group_offsets, tile_groups, tile_starts,
        *_cut_groups(group_offsets, layout.segment, layout.segments),
        *_group_entities(row_entities, layout),
        *_group_uses(slot_relations, supports, layout),
    )  # fmt: skip
    small = Plan._make(tensor.to(torch.int32).contiguous() for tensor in plan)
    return small._replace(masked=masked.to(torch.int8), shares=factors * weights / weights.sum(1, keepdim=True))


def _spread_groups(corruption: SharedCorruption, slots: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
    """Assign shared replacements to slots; a slot without a group has the number U and replacements of -1.

    Returns:
        Slots (S, U), 1 if a slot's replacements stand for heads (S, U), and the replacements (S, U n).
    """
    steps, n = len(slots), layout.negatives
    begins = corruption.owners.diff(prepend=corruption.owners.new_full((1,), -1)) > 0
    firsts = begins.nonzero().squeeze(1)  # first triple of each group
    places = firsts // layout.batch * layout.slots + slots.flatten()[firsts]
    owners = slots.new_full((steps * layout.slots,), layout.slots)
    owners[places] = places % layout.slots
    of_head = slots.new_zeros(steps * layout.slots)
    of_head[places] = corruption.replaces_head.to(of_head)
    replacements = slots.new_full((steps * layout.slots, n), -1)
    replacements[places] = corruption.replacements
    return owners.view(steps, -1), of_head.view(steps, -1), replacements.view(steps, -1)


def _fill(values: Tensor, steps: int, width: int, filler: int) -> Tensor:
    """Cut values into rows and fill up the last one, (S, width)."""
    return pad(values, (0, steps * width - len(values)), value=filler).view(steps, width)


def _find_offsets(ordered: Tensor, size: int) -> Tensor:
    """Return the start of each of the keys 0 to size in rows of ascending keys, (S, size + 1)."""
    keys = torch.arange(size + 1, dtype=ordered.dtype, device=ordered.device).repeat(len(ordered), 1)
    return torch.searchsorted(ordered, keys)


def _list_runs(ordered: Tensor, valid: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Number the runs of equal neighbours in each row, whose valid places come first.

    Returns:
        Number of each place's run (S, W), `size` for invalid places; key of each run (S, size), -1 after the last; and
        start of each run (S, size + 1).
    """
    begins = valid.clone()
    begins[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    numbers = torch.where(valid, begins.cumsum(1) - 1, size)
    offsets = _find_offsets(numbers, size)
    firsts = ordered.gather(1, offsets[:, :-1].clamp_max(ordered.shape[1] - 1))
    return numbers, torch.where(offsets.diff(dim=1) > 0, firsts, -1), offsets


def _group_rows(slots: Tensor, owners: Tensor, of_head: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Return rows ordered by group and the start of each group; replacements of one owner stay together.

    Args:
        slots: Slots of the triples, (S, B).
        owners: Slots of the owners of replacements, (S, O): triples, or slots if triples share replacements.
        of_head: 1 if an owner's replacements stand for heads, (S, O).
        layout: Sizes of a step.
    """
    b, n, groups = layout.batch, layout.negatives, layout.groups
    if not groups:
        return slots.new_zeros(len(slots), 0), slots.new_zeros(len(slots), 1)
    tail_side = layout.slots if layout.projections == 2 else 0
    keys = torch.cat([slots, slots + tail_side, owners + tail_side * (1 - of_head)], 1)  # (S, 2 B + O)
    keys = torch.where(torch.cat([slots, slots, owners], 1) < layout.slots, keys, groups)
    triples = torch.arange(b, device=slots.device)
    places = torch.arange(owners.shape[1], device=slots.device)
    starts = torch.cat([triples, b + triples, 2 * b + n * places])
    lengths = torch.cat([torch.ones_like(starts[: 2 * b]), torch.full_like(places, n)])
    ordered, order = torch.sort(keys, dim=1, stable=True)
    ends = pad(lengths[order].cumsum(1), (1, 0))  # (S, 2 B + O + 1)
    offsets = ends.gather(1, _find_offsets(ordered, groups))
    return _expand(starts[order], lengths[order], layout), offsets


def _cut_groups(offsets: Tensor, size: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Cut groups into pieces of at most `size` rows.

    Returns:
        Group and start of each piece, (S, count) each, and the first piece of each group, (S, G + 1).
    """
    firsts = pad(((offsets.diff(dim=1) + size - 1) // size).cumsum(1), (1, 0))
    pieces = torch.arange(count, device=offsets.device).repeat(len(offsets), 1)
    owners = torch.searchsorted(firsts, pieces, right=True) - 1
    last = firsts.shape[1] - 2
    groups = owners.clamp(0, max(last, 0))
    starts = offsets.gather(1, groups) + (pieces - firsts.gather(1, groups)) * size
    return torch.where(owners <= last, owners, -1), starts, firsts


def _expand(starts: Tensor, lengths: Tensor, layout: Layout) -> Tensor:
    """Return the rows of runs of consecutive rows, given the start and length of each, (S, N)."""
    if layout.negatives == 1:
        return starts
    flat = lengths.flatten()
    begins = flat.cumsum(0) - flat
    places = torch.arange(len(starts) * layout.rows, device=starts.device)
    runs = torch.repeat_interleave(flat, output_size=len(places))
    return (starts.flatten()[runs] + places - begins[runs]).view(-1, layout.rows)


def _group_entities(row_entities: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct entities, the start of each one's rows, and the rows ordered by entity."""
    if not layout.distinct:
        return (row_entities.new_zeros(len(row_entities), 0),) * 3
    keys = torch.where(row_entities >= 0, row_entities, layout.entities).to(torch.int32)
    ordered, rows = torch.sort(keys, dim=1, stable=True)
    _, distinct, offsets = _list_runs(ordered, ordered < layout.entities, layout.distinct)
    return distinct, offsets, rows


def _group_uses(slot_relations: Tensor, supports: list[Tensor], layout: Layout) -> tuple[Tensor, Tensor]:
    """Return the uses of concepts ordered by concept, and the start of each concept's uses."""
    steps, m = len(slot_relations), layout.concepts
    if not supports:
        return slot_relations.new_zeros(steps, 0), slot_relations.new_zeros(steps, m + 1)
    chosen = torch.stack([support[slot_relations.clamp_min(0)] for support in supports], 1)  # (S, P, U, k)
    used = (slot_relations >= 0)[:, None, :, None]
    ordered, uses = torch.sort(torch.where(used, chosen, m).reshape(steps, -1), dim=1, stable=True)  # (S, G k)
    return uses, _find_offsets(ordered, m)
