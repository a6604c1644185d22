"""What many batches touch, worked out at once, so that a step needs neither the host nor a sort.

A step has `batch` triples with `negatives` replacements each. Its rows are vectors to be projected: row i is the head
of triple i, row batch + i its tail, and row 2 batch + i negatives + j its j-th replacement; where triples of a relation
share their replacements, i is the relation's slot. Triples are sorted by relation; a relation's place among those of
its step is its slot. Rows that share a matrix form a group: slot u on the p-th projection is group p slots + u. Shapes:
S steps; B triples, n replacements, U slots, N rows (B (2 + n), or 2 B + U n if they are shared), G groups, T tiles,
M segments, V distinct entities of a step. Whatever a step does not use is -1 or lies behind its last offset.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from itransf.config import Config
from itransf.training.negatives import Corruption, SharedCorruption

PLANNED_ROWS = {"cuda": 1 << 24, "cpu": 1 << 18}  # rows planned at once, which bounds the memory of a plan


@dataclass(frozen=True)
class Layout:
    """The sizes of a step.

    Attributes:
        entities: In the graph.
        relations: In the graph.
        batch: Triples of a step (B).
        negatives: Replacements of a triple (n).
        projections: Zero without projections, one if both sides share theirs, else two.
        tile: The most rows of one group that are multiplied together.
        concepts: Shared matrices (m), zero where each relation has its own.
        support: Concepts a relation side uses (k).
        shared: Whether the triples of a slot share their replacements.
    """

    entities: int
    relations: int
    batch: int
    negatives: int
    projections: int
    tile: int = 16
    concepts: int = 0
    support: int = 0
    shared: bool = False

    @property
    def owners(self) -> int:
        """The most triples, or slots where these share, that have replacements of their own."""
        return self.slots if self.shared else self.batch

    @property
    def rows(self) -> int:
        """Vectors a step looks at, N."""
        return 2 * self.batch + self.owners * self.negatives

    @property
    def slots(self) -> int:
        """The most relations of a step, U."""
        return min(self.relations, self.batch)

    @property
    def groups(self) -> int:
        """Matrices of a step, G."""
        return self.projections * self.slots

    @property
    def tiles(self) -> int:
        """The most tiles the rows of a step are cut into, T."""
        return self.rows // self.tile + self.groups

    @property
    def segment(self) -> int:
        """The most rows of one group whose outer products one program sums."""
        return 8 * self.tile

    @property
    def segments(self) -> int:
        """The most segments the rows of a step are cut into, M."""
        return self.rows // self.segment + self.groups

    @property
    def distinct(self) -> int:
        """The most entities a step can touch, V."""
        return min(self.rows, self.entities)


@dataclass(frozen=True)
class Plan:
    """The steps, as int32 tensors whose first dimension is the step.

    Attributes:
        relations: Of each triple, (S, B); -1 fills up the last step.
        replaces_head: One where a triple's replacements stand for its head, (S, B).
        sizes: Triples of each step, (S, 1).
        triple_slots: The slot of each triple, (S, B).
        left_out: One where a shared replacement counts nothing for a triple, (S, B n) as int8; nothing if none is
            shared.
        slot_relations: (S, U)
        slot_offsets: Where each slot's triples begin, (S, U + 1).
        row_entities: (S, N)
        group_rows: Rows ordered by group, (S, N).
        group_offsets: (S, G + 1)
        tile_groups: The group of each tile, (S, T).
        tile_starts: Where each tile begins in group_rows, (S, T).
        segment_groups: The group of each segment, (S, M).
        segment_starts: Where each segment begins in group_rows, (S, M).
        segment_offsets: The first segment of each group, (S, G + 1).
        entity_keys: The distinct entities, (S, V).
        entity_offsets: Where each one's rows begin in entity_rows, (S, V + 1).
        entity_rows: Rows ordered by entity, (S, N).
        users: Uses of concepts ordered by concept, as group * k + place in the support, (S, G k).
        user_offsets: Where each concept's uses begin, (S, m + 1).
    """

    relations: Tensor
    replaces_head: Tensor
    sizes: Tensor
    triple_slots: Tensor
    left_out: Tensor
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
    users: Tensor
    user_offsets: Tensor

    def copy_into(self, buffers: Plan) -> None:
        """Write these steps over the first ones of `buffers`, whose place in memory stays."""
        for item in fields(self):
            steps: Tensor = getattr(self, item.name)
            getattr(buffers, item.name)[: len(steps)].copy_(steps)


def count_planned_batches(triples: int, relations: int, config: Config, device: str) -> int:
    """Return how many batches are drawn at once, the same number by plain and by fused steps.

    The largest part of a step's plan are its rows, or the marks of shared negatives left out, four of which are as
    large as one row number.
    """
    batch, negatives = min(config.training.batch_size, triples), config.negatives.per_triple
    owners = min(relations, batch) if config.negatives.shared else batch
    numbers = max(2 * batch + owners * negatives, batch * negatives // 4)
    return max(1, min(PLANNED_ROWS.get(device, PLANNED_ROWS["cpu"]) // numbers, -(-triples // batch)))


def sort_by_relation(triples: Tensor, relations: Tensor, batch: int) -> Tensor:
    """Return the triples (indices, in the order of batches) sorted by relation inside each batch."""
    steps = torch.arange(len(triples), device=triples.device) // batch
    return triples[torch.argsort(steps * (relations.max() + 1) + relations, stable=True)]


def make_plan(
    triples: Tensor, corruption: Corruption | SharedCorruption, supports: list[Tensor], layout: Layout
) -> Plan:
    """Plan the steps.

    Args:
        triples: Heads, relations and tails, (F, 3), sorted by relation inside each batch.
        corruption: Their replacements.
        supports: The concepts of every relation on each projection, (r, k) each; empty without concepts.
        layout: The sizes.
    """
    steps = -(-len(triples) // layout.batch)
    heads, relations, tails = (_fill(column, steps, layout.batch, -1) for column in triples.unbind(1))
    n = layout.negatives
    slots, slot_relations, slot_offsets = _list_runs(relations, relations >= 0, layout.slots)
    left_out = relations.new_zeros(steps, 0)
    if isinstance(corruption, SharedCorruption):
        left_out = _fill(corruption.left_out.flatten().to(torch.int8), steps, layout.batch * n, 0)
        owners, of_head, replacements = _spread_groups(corruption, slots, layout)
        replaces_head = of_head.gather(1, slots.clamp_max(layout.slots - 1))
    else:
        owners, of_head = slots, _fill(corruption.replaces_head.long(), steps, layout.batch, 0)
        replacements = _fill(corruption.replacements.flatten(), steps, layout.batch * n, -1)
        replaces_head = of_head
    row_entities = torch.cat([heads, tails, replacements], 1)
    group_rows, group_offsets = _group_rows(slots, owners, of_head, layout)
    tile_groups, tile_starts, _ = _cut_groups(group_offsets, layout.tile, layout.tiles)
    segments = _cut_groups(group_offsets, layout.segment, layout.segments)
    entity_keys, entity_offsets, entity_rows = _group_entities(row_entities, layout)
    users, user_offsets = _group_users(slot_relations, supports, layout)
    before = (relations, replaces_head, (relations >= 0).sum(1, keepdim=True), slots)
    after = (
        *(slot_relations, slot_offsets, row_entities, group_rows, group_offsets, tile_groups, tile_starts, *segments),
        *(entity_keys, entity_offsets, entity_rows, users, user_offsets),
    )
    everything = [*map(_shrink, before), left_out.to(torch.int8), *map(_shrink, after)]
    return Plan(*everything)


def _shrink(tensor: Tensor) -> Tensor:
    """Return numbers as kernels read them."""
    return tensor.to(torch.int32).contiguous()


def _spread_groups(corruption: SharedCorruption, slots: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
    """Bring what groups share to their slots; a slot without a group has the number U and replacements of -1.

    Returns:
        The slots (S, U), one where the replacements of each stand for heads (S, U), and the replacements (S, U n).
    """
    steps, n = len(slots), layout.negatives
    begins = corruption.owners.diff(prepend=corruption.owners.new_full((1,), -1)) > 0
    firsts = begins.nonzero().squeeze(1)  # where each group's triples begin
    places = firsts // layout.batch * layout.slots + slots.flatten()[firsts]
    owners = slots.new_full((steps * layout.slots,), layout.slots)
    owners[places] = places % layout.slots
    of_head = slots.new_zeros(steps * layout.slots)
    of_head[places] = corruption.replaces_head.to(of_head)
    replacements = slots.new_full((steps * layout.slots, n), -1)
    replacements[places] = corruption.replacements
    return owners.view(steps, -1), of_head.view(steps, -1), replacements.view(steps, -1)


def _fill(values: Tensor, steps: int, width: int, filler: int) -> Tensor:
    """Cut values into rows, the last one filled up, (S, width)."""
    return torch.nn.functional.pad(values, (0, steps * width - len(values)), value=filler).view(steps, width)


def _find_offsets(ordered: Tensor, size: int) -> Tensor:
    """Return where each of the keys 0 to size begins in rows of ascending keys, (S, size + 1)."""
    wanted = torch.arange(size + 1, dtype=ordered.dtype, device=ordered.device).repeat(len(ordered), 1)
    return torch.searchsorted(ordered, wanted)


def _list_runs(ordered: Tensor, valid: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """Number the runs of equal neighbours in each row, the valid places of which come first.

    Returns:
        The number of each place's run (S, W), invalid ones having the number `size`; the key of each run (S, size),
        -1 behind the last; and where each run begins (S, size + 1).
    """
    begins = valid.clone()
    begins[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    numbers = torch.where(valid, begins.cumsum(1) - 1, size)
    offsets = _find_offsets(numbers, size)
    firsts = ordered.gather(1, offsets[:, :-1].clamp_max(ordered.shape[1] - 1))
    return numbers, torch.where(offsets.diff(dim=1) > 0, firsts, -1), offsets


def _group_rows(slots: Tensor, owners: Tensor, of_head: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Order rows by matrix, and say where each group begins; replacements of one owner stay together.

    Args:
        slots: Of the triples, (S, B).
        owners: The slots of what has replacements, (S, O): triples, or slots where triples share them.
        of_head: One where those stand for heads, (S, O).
        layout: The sizes.
    """
    b, n, groups = layout.batch, layout.negatives, layout.groups
    tail_side = layout.slots if layout.projections == 2 else 0
    keys = torch.cat([slots, slots + tail_side, owners + tail_side * (1 - of_head)], 1)  # (S, 2 B + O)
    keys = torch.where(torch.cat([slots, slots, owners], 1) < layout.slots, keys, groups)
    triples = torch.arange(b, device=slots.device)
    places = torch.arange(owners.shape[1], device=slots.device)
    starts = torch.cat([triples, b + triples, 2 * b + n * places])
    lengths = torch.cat([torch.ones_like(starts[: 2 * b]), torch.full_like(places, n)])
    ordered, order = torch.sort(keys, dim=1, stable=True)
    ends = torch.nn.functional.pad(lengths[order].cumsum(1), (1, 0))  # (S, 2 B + O + 1)
    offsets = ends.gather(1, _find_offsets(ordered, groups))
    rows = _expand(starts[order], lengths[order], layout)
    return rows, offsets


def _cut_groups(offsets: Tensor, size: int, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Cut groups into pieces of at most `size` rows.

    Returns:
        The group of each piece and where it begins, (S, count) each, and the first piece of each group, (S, G + 1).
    """
    firsts = torch.nn.functional.pad(((offsets.diff(dim=1) + size - 1) // size).cumsum(1), (1, 0))
    pieces = torch.arange(count, device=offsets.device).repeat(len(offsets), 1)
    owners = torch.searchsorted(firsts, pieces, right=True) - 1
    last = firsts.shape[1] - 2
    groups = owners.clamp(0, max(last, 0))
    starts = offsets.gather(1, groups) + (pieces - firsts.gather(1, groups)) * size
    return torch.where(owners <= last, owners, -1), starts, firsts


def _expand(starts: Tensor, lengths: Tensor, layout: Layout) -> Tensor:
    """Write out runs of consecutive rows, given where each starts and how long it is, (S, N)."""
    if layout.negatives == 1:
        return starts
    flat = lengths.flatten()
    begins = flat.cumsum(0) - flat
    places = torch.arange(len(starts) * layout.rows, device=starts.device)
    runs = torch.repeat_interleave(flat, output_size=len(places))
    return (starts.flatten()[runs] + places - begins[runs]).view(-1, layout.rows)


def _group_entities(row_entities: Tensor, layout: Layout) -> tuple[Tensor, Tensor, Tensor]:
    """Order rows by entity: the distinct ones, where each begins, and the rows."""
    keys = torch.where(row_entities >= 0, row_entities, layout.entities).to(torch.int32)
    ordered, rows = torch.sort(keys, dim=1, stable=True)
    _, distinct, offsets = _list_runs(ordered, ordered < layout.entities, layout.distinct)
    return distinct, offsets, rows


def _group_users(slot_relations: Tensor, supports: list[Tensor], layout: Layout) -> tuple[Tensor, Tensor]:
    """Order the uses of concepts by concept, and say where each concept's begin."""
    steps, m = len(slot_relations), layout.concepts
    if not supports:
        return slot_relations.new_zeros(steps, 0), slot_relations.new_zeros(steps, m + 1)
    chosen = torch.stack([support[slot_relations.clamp_min(0)] for support in supports], 1)  # (S, P, U, k)
    used = (slot_relations >= 0)[:, None, :, None]
    ordered, users = torch.sort(torch.where(used, chosen, m).reshape(steps, -1), dim=1, stable=True)  # (S, G k)
    return users, _find_offsets(ordered, m)
