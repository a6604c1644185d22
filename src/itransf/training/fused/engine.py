"""Runs planned steps: the launches of one step, recorded once and replayed for all."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import torch
import triton
from torch import Tensor, nn

from itransf.config import Config
from itransf.models.projection import ConceptProjection, FullProjection
from itransf.models.translation import Translation
from itransf.training.fused import kernels, updates
from itransf.training.fused.plan import Layout, Plan, make_plan, sort_by_relation
from itransf.training.negatives import NegativeSampler
from itransf.training.optimizers import MOMENTS, RowOptimizer

PLANNED_ROWS = 1 << 24  # rows planned at once, which bounds the memory of a plan
LENGTHS = {"none": 0, "unit": 1, "ball": 2}
OPTIMIZERS = {"sgd": 0, "adagrad": 1, "adam": 2}
BLOCK = 1024  # numbers of a matrix one program copies, composes or updates
NARROW_BLOCK = 256  # the same where few programs have many matrices to sum
OUT = 64  # columns of a product one program makes
NARROW_OUT = 32  # the same where a program also sums over rows
CHUNK = 8  # rows or matrices a program sums at once


@dataclass
class Buffers:
    """What a step writes and the next one writes over."""

    vectors: Tensor  # (N, d): rows after projection
    gradients: Tensor  # (N, d): of those
    entity_gradients: Tensor  # (N, d): of the rows before projection
    relation_gradients: Tensor  # (B, d)
    matrices: Tensor  # (G, d, d)
    matrix_gradients: Tensor  # (M, d, d): of the segments; a group's whole gradient ends up in its first
    attention: Tensor  # (G, k)


class FusedEngine:
    """Trains a translation model on batches of facts without asking the host between them.

    Args:
        model: Changed in place.
        train: Training facts on the model's device, (f, 3).
        sampler: Draws the corrupted copies.
        optimizer: Its states are moved in place, its step count goes on.
        config: All settings.
    """

    def __init__(
        self, model: Translation, train: Tensor, sampler: NegativeSampler, optimizer: RowOptimizer, config: Config
    ) -> None:
        self.model, self.train, self.sampler, self.optimizer, self.config = model, train, sampler, optimizer, config
        self.projections = list_projections(model)
        self.layout = make_layout(model, self.projections, min(config.training.batch_size, len(train)), config)
        self.planned_steps = max(1, min(PLANNED_ROWS // self.layout.rows, -(-len(train) // self.layout.batch)))
        self.counter = torch.zeros(1, dtype=torch.int32, device=train.device)
        self.rates = torch.zeros(self.planned_steps, 3, device=train.device)
        self.losses = torch.zeros(self.planned_steps, self.layout.batch, device=train.device)
        self.buffers = make_buffers(self.layout, model.config.dim, train.device)
        self.precision = choose_precision(train.device)
        self.plan: Plan | None = None
        self.graph: Any = None

    @property
    def most_facts(self) -> int:
        """How many facts can be planned at once."""
        return self.planned_steps * self.layout.batch

    @torch.no_grad()
    def run(self, facts: Tensor, generator: torch.Generator) -> Tensor:
        """Update on facts (indices, in the order of batches) and return the loss of each batch, (S,)."""
        assert len(facts) <= self.most_facts
        facts = sort_by_relation(facts, self.train[facts, 1], self.layout.batch)
        corruption = self.sampler.corrupt(facts, self.layout.negatives, generator)
        supports = [p.support for _, p in self.projections if isinstance(p, ConceptProjection)]
        plan = make_plan(self.train[facts], corruption, supports, self.layout)
        if self.plan is None:
            self.plan = make_room(plan, self.planned_steps)
        plan.copy_into(self.plan)
        steps = len(plan.sizes)
        self._set_rates(steps)
        self.losses.zero_()
        self.counter.zero_()
        self._replay(steps)
        self.optimizer.steps += steps
        return self.losses[:steps].sum(1) / plan.sizes[:, 0]

    def _set_rates(self, steps: int) -> None:
        """Write the learning rate and Adam's corrections of the coming steps."""
        numbers = self.optimizer.steps + 1 + torch.arange(steps, dtype=torch.float64)
        columns = [torch.full_like(numbers, self.optimizer.learning_rate), *(1 - beta**numbers for beta in MOMENTS)]
        self.rates[:steps] = torch.stack(columns, 1).float().to(self.rates.device)

    def _replay(self, steps: int) -> None:
        """Run the steps: on a GPU the first ever compiles the kernels, then one is recorded and the rest replayed."""
        if not self.train.is_cuda:
            for _ in range(steps):
                self._launch()
            return
        if self.graph is None:
            self._launch()
            steps -= 1
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self._launch()
        for _ in range(steps):
            self.graph.replay()

    def _launch(self) -> None:
        """Launch the kernels of one step."""
        plan = self.plan
        assert plan is not None
        if self.projections:
            self._make_matrices(plan)
            self._multiply(plan, self.model.entities, self.buffers.vectors, gather=True)
        self._contrast(plan)
        if self.projections:
            self._multiply(plan, self.buffers.gradients, self.buffers.entity_gradients, gather=False)
            self._sum_matrix_gradients(plan)
            self._update_projections(plan)
        self._update_vectors(plan)
        self.counter.add_(1)

    def _make_matrices(self, plan: Plan) -> None:
        slots, size, buffers = self.layout.slots, self.model.config.dim**2, self.buffers
        for place, (_, projection) in enumerate(self.projections):
            grid = (slots, triton.cdiv(size, BLOCK))
            if isinstance(projection, FullProjection):
                kernels.copy_matrices[grid](
                    *(self.counter, plan.slot_relations, projection.weight, buffers.matrices),
                    *(place * slots, slots, size),
                    BLOCK=BLOCK,
                )
                continue
            kernels.compose_matrices[grid](
                *(self.counter, plan.slot_relations, projection.concepts, projection.scores, projection.support),
                *(buffers.attention, buffers.matrices, projection.temperature, place * slots, slots, size),
                *(self.layout.concepts, self.layout.support),
                K=triton.next_power_of_2(self.layout.support),
                BLOCK=BLOCK,
            )

    def _multiply(self, plan: Plan, source: Tensor, products: Tensor, gather: bool) -> None:
        layout, dim = self.layout, self.model.config.dim
        across, along = (dim, 1) if gather else (1, dim)  # forward W x, backward W' g
        kernels.multiply_rows[(layout.tiles, triton.cdiv(dim, OUT))](
            *(self.counter, plan.group_rows, plan.group_offsets, plan.tile_groups, plan.tile_starts),
            *(plan.row_entities, source, self.buffers.matrices, products),
            *(layout.rows, layout.groups, layout.tiles, dim, across, along),
            GATHER=gather,
            PRECISION=self.precision,
            TILE=layout.tile,
            OUT=OUT,
            DIM=self._width,
        )

    def _sum_matrix_gradients(self, plan: Plan) -> None:
        layout, dim = self.layout, self.model.config.dim
        kernels.sum_outer_products[(layout.segments, triton.cdiv(dim, NARROW_OUT))](
            *(self.counter, plan.group_rows, plan.group_offsets, plan.segment_groups, plan.segment_starts),
            *(plan.row_entities, self.model.entities, self.buffers.gradients, self.buffers.matrix_gradients),
            *(layout.rows, layout.groups, layout.segments, dim),
            PRECISION=self.precision,
            SEGMENT=layout.segment,
            TILE=layout.tile,
            OUT=NARROW_OUT,
            DIM=self._width,
        )
        kernels.add_segments[(layout.groups, triton.cdiv(dim**2, BLOCK))](
            *(self.counter, plan.segment_offsets, self.buffers.matrix_gradients, layout.groups, dim**2),
            BLOCK=BLOCK,
        )

    def _contrast(self, plan: Plan) -> None:
        layout, model, loss = self.layout, self.model, self.config.loss
        projected = bool(self.projections)
        kernels.contrast[(layout.batch,)](
            *(self.counter, plan.relations, plan.replaces_head, plan.sizes, plan.row_entities),
            *(self.buffers.vectors if projected else model.entities, model.relations),
            *(self.buffers.gradients if projected else self.buffers.entity_gradients, self.buffers.relation_gradients),
            *(self.losses, loss.margin, loss.temperature),
            *(layout.batch, layout.rows, layout.negatives, model.config.dim),
            PROJECTED=projected,
            ADVERSARIAL=loss.kind == "adversarial",
            NORM=model.config.norm,
            LENGTH=LENGTHS[model.config.projected],
            CHUNK=min(CHUNK, triton.next_power_of_2(layout.negatives)),
            DIM=self._width,
        )

    def _update_projections(self, plan: Plan) -> None:
        slots, size, optimizer = self.layout.slots, self.model.config.dim**2, self._optimizer
        common = (self.counter, plan.slot_relations, plan.segment_offsets)
        for place, (name, projection) in enumerate(self.projections):
            if isinstance(projection, FullProjection):
                weights = f"{name}.weight"
                updates.update_matrices[(slots, triton.cdiv(size, BLOCK))](
                    *(*common, self.buffers.matrix_gradients, *self._state(weights)),
                    *(self.rates, self.model.rate(weights), place * slots, slots, self.layout.groups, size),
                    OPTIMIZER=optimizer,
                    BLOCK=BLOCK,
                )
                continue
            updates.update_scores[(slots,)](
                *(*common, projection.concepts, self.buffers.matrix_gradients),
                *self._state(f"{name}.scores", self.model.get_buffer(f"{name}.support")),
                *(self.rates, projection.temperature, place * slots, slots, self.layout.groups, size),
                *(self.layout.concepts, self.layout.support),
                OPTIMIZER=optimizer,
                K=triton.next_power_of_2(self.layout.support),
                BLOCK=BLOCK,
                COLUMNS=64,
            )
        if self.layout.concepts:
            self._update_concepts(plan)

    def _update_concepts(self, plan: Plan) -> None:
        layout, size = self.layout, self.model.config.dim**2
        updates.update_concepts[(layout.concepts, triton.cdiv(size, NARROW_BLOCK))](
            *(self.counter, plan.users, plan.user_offsets, plan.segment_offsets),
            *(self.buffers.attention, self.buffers.matrix_gradients),
            *(*self._state("concepts"), self.rates, self.model.rate("concepts")),
            *(layout.groups * layout.support, layout.concepts, layout.groups, layout.support, size),
            OPTIMIZER=self._optimizer,
            CHUNK=CHUNK,
            BLOCK=NARROW_BLOCK,
        )

    def _update_vectors(self, plan: Plan) -> None:
        layout, dim, buffers = self.layout, self.model.config.dim, self.buffers
        for name, keys, offsets, gradients, count, length in (
            ("relations", plan.slot_relations, plan.slot_offsets, buffers.relation_gradients, layout.slots, "none"),
            ("entities", plan.entity_keys, plan.entity_offsets, buffers.entity_gradients, layout.distinct,
             self.model.config.entities),
        ):  # fmt: skip
            updates.update_rows[(count,)](
                *(self.counter, keys, offsets, plan.entity_rows, gradients, *self._state(name), self.rates),
                *(self.model.rate(name), count, layout.rows, dim),
                LISTED=name == "entities",
                LENGTH=LENGTHS[length],
                OPTIMIZER=self._optimizer,
                CHUNK=CHUNK,
                DIM=self._width,
            )

    def _state(self, name: str, *between: Tensor) -> tuple[Tensor, ...]:
        """Return a parameter and its two optimiser states (itself where there are fewer)."""
        parameter = self.model.get_parameter(name)
        states = [self.optimizer.state[f"{name}.{slot}"] for slot in self.optimizer.slots]
        return (parameter, *between, *[*states, parameter, parameter][:2])

    @property
    def _optimizer(self) -> int:
        return OPTIMIZERS[self.config.training.optimizer]

    @property
    def _width(self) -> int:
        """The dimension, rounded up to what the compiler can lay out."""
        return max(16, int(triton.next_power_of_2(self.model.config.dim)))


def choose_precision(device: torch.device) -> str:
    """Return how products are made: three passes of the tensor cores come to float32's precision, where there are such.

    Each factor is split into two TF32 numbers that together hold nearly all its bits, unlike plain TF32.
    """
    has_cores = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    return "tf32x3" if has_cores else "ieee"


def list_projections(model: Translation) -> list[tuple[str, nn.Module]]:
    """Return the model's projections that have matrices, each once, with their names."""
    named = [("project_head", model.project_head), ("project_tail", model.project_tail)]
    if model.project_tail is model.project_head:
        named = named[:1]
    return [(name, p) for name, p in named if isinstance(p, FullProjection | ConceptProjection)]


def make_layout(model: Translation, projections: list[tuple[str, nn.Module]], batch: int, config: Config) -> Layout:
    """Return the sizes of a step."""
    mixing = next((p for _, p in projections if isinstance(p, ConceptProjection)), None)
    return Layout(
        entities=model.sizes.entities,
        relations=model.sizes.relations,
        batch=batch,
        negatives=config.negatives.per_fact,
        projections=len(projections),
        tile=16 if config.negatives.per_fact < 16 else 64,
        concepts=len(mixing.concepts) if mixing else 0,
        support=mixing.support.shape[1] if mixing else 0,
    )


def make_buffers(layout: Layout, dim: int, device: torch.device) -> Buffers:
    """Return room for what a step writes."""

    def make(*shape: int) -> Tensor:
        return torch.zeros(shape, device=device)

    projected = layout.rows if layout.projections else 0
    return Buffers(
        vectors=make(projected, dim),
        gradients=make(projected, dim),
        entity_gradients=make(layout.rows, dim),
        relation_gradients=make(layout.batch, dim),
        matrices=make(layout.groups, dim, dim),
        matrix_gradients=make(layout.segments if layout.groups else 0, dim, dim),
        attention=make(layout.groups, layout.support),
    )


def make_room(plan: Plan, steps: int) -> Plan:
    """Return a plan of `steps` unused steps with the shapes of this one."""
    shapes = {item.name: getattr(plan, item.name) for item in fields(plan)}
    return Plan(**{name: tensor.new_full((steps, *tensor.shape[1:]), -1) for name, tensor in shapes.items()})
