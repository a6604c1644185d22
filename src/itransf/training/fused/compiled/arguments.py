"""What compiled functions are given, and how they are compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from itransf.ops import compilation

compiled: Callable[..., Callable[[Any], Any]] = partial(compilation.compiled, error_model="numpy")
"""Compiles as everything is; what is divided by zero becomes infinite, as in numpy."""
REORDERED = {"reassoc", "contract"}  # sums may be vectorised: their order is then the compiler's, and always the same


class Sizes(NamedTuple):
    """Sizes and choices of a step, as numbers."""

    batch: int
    negatives: int
    slots: int
    groups: int
    segment: int
    support: int
    dim: int
    kind: int  # of projections: 0 none, 1 own matrices, 2 concepts by softmax, 3 concepts by free weights
    norm: int
    projected: int  # lengths: 0 none, 1 unit, 2 ball
    entities: int
    adversarial: int
    optimizer: int  # 0 SGD, 1 Adagrad, 2 Adam
    margin: float
    loss_temperature: float
    temperature: float
    matrix_lr_factor: float
    weight_penalty: float  # on the sizes of free weights


class Steps(NamedTuple):
    """The arrays of a plan that are used here; see `plan.Plan`."""

    relations: Any
    replaces_head: Any
    sizes: Any
    slot_relations: Any
    slot_offsets: Any
    row_entities: Any
    group_rows: Any
    group_offsets: Any
    segment_groups: Any
    segment_starts: Any
    segment_offsets: Any
    entity_keys: Any
    entity_offsets: Any
    entity_rows: Any
    users: Any
    user_offsets: Any


class Table(NamedTuple):
    """A parameter and its two optimiser states, rows of equal length."""

    values: Any
    first: Any
    second: Any


class Projections(NamedTuple):
    """What both sides project with: own matrices or scores with supports on each side, and shared concepts."""

    head: Table
    tail: Table
    head_support: Any
    tail_support: Any
    concepts: Table


class Room(NamedTuple):
    """What a step writes and the next writes over; see `engine.Buffers`."""

    vectors: Any
    gradients: Any
    entity_gradients: Any
    relation_gradients: Any
    matrices: Any
    matrix_gradients: Any
    attention: Any
