"""Fused steps on a GPU: the launches of one step, recorded once and replayed for all."""

from __future__ import annotations

import threading
from typing import Any

import torch
import triton
from torch import Tensor

from itransf.config import Config
from itransf.models.projection import ConceptProjection, FullProjection
from itransf.models.translation import Translation
from itransf.training.fused import contrast_kernels, kernels, updates
from itransf.training.fused.engine import LENGTHS, OPTIMIZERS, FusedEngine
from itransf.training.fused.plan import Plan
from itransf.training.negatives import NegativeSampler
from itransf.training.optimizers import RowOptimizer

BLOCK = 1024  # numbers of a matrix one program copies, composes or updates
NARROW_BLOCK = 256  # the same where few programs have many matrices to sum
LONG_BLOCK = 4096  # the same where a program goes through whole matrices by itself
OUT, INNER = 64, 16  # of a product, columns one program makes, and numbers of each factor it multiplies at once
SIDE, SUMMED = 64, 16  # of a sum of outer products, rows and columns one program makes, and terms it adds at once
WIDE = 512  # vectors from this length on are summed by more than one warp
CHUNK = 8  # rows or matrices a program sums at once
COPIES = 4  # corrupted copies a program compares at once
_recording = threading.Lock()  # trainings side by side: one records at a time, the others may go on


class RecordedEngine(FusedEngine):
    """Launches GPU kernels; without a GPU (under triton's interpreter) they run one by one."""

    shares_negatives = True

    def __init__(
        self, model: Translation, train: Tensor, sampler: NegativeSampler, optimizer: RowOptimizer, config: Config
    ) -> None:
        super().__init__(model, train, sampler, optimizer, config)
        self.counter = torch.zeros(1, dtype=torch.int32, device=train.device)
        self.precision = choose_precision(train.device)
        self.recording: Any = None

    def run_planned(self, plan: Plan, steps: int) -> None:
        """Run the steps: on a GPU the first ever compiles the kernels, then one is recorded and the rest replayed."""
        self.counter.zero_()
        if not self.train.is_cuda:
            for _ in range(steps):
                self._launch(plan)
            return
        if self.recording is None:
            self._record(plan)
            steps -= 1
        for _ in range(steps):
            self.recording.replay()

    def _record(self, plan: Plan) -> None:
        """Run one step, which compiles its kernels, and record another that does not run."""
        with _recording:
            self._launch(plan)
            torch.cuda.synchronize()
            recording, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
            # A stream that torch picks could be another training's, whose work would be recorded instead of done.
            own = None if stream == torch.cuda.default_stream() else stream  # that one cannot record
            with torch.cuda.graph(recording, stream=own, capture_error_mode="thread_local"):
                self._launch(plan)
            self.recording = recording

    def _launch(self, plan: Plan) -> None:
        """Launch the kernels of one step."""
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
                FREE=projection.kind == "l1",
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
            OUT=min(OUT, self._width),
            INNER=min(INNER, self._width),
        )

    def _sum_matrix_gradients(self, plan: Plan) -> None:
        layout, dim = self.layout, self.model.config.dim
        side = min(SIDE, self._width)
        blocks = triton.cdiv(dim, side)
        kernels.sum_outer_products[(layout.segments, blocks, blocks)](
            *(self.counter, plan.group_rows, plan.group_offsets, plan.segment_groups, plan.segment_starts),
            *(plan.row_entities, self.model.entities, self.buffers.gradients, self.buffers.matrix_gradients),
            *(layout.rows, layout.groups, layout.segments, dim),
            SEGMENT=layout.segment,
            TILE=min(SUMMED, layout.tile),
            OUT=side,
            ACROSS=side,
            num_stages=2,
        )
        kernels.add_segments[(layout.groups, triton.cdiv(dim**2, BLOCK))](
            *(self.counter, plan.segment_offsets, self.buffers.matrix_gradients, layout.groups, dim**2),
            BLOCK=BLOCK,
        )

    def _contrast(self, plan: Plan) -> None:
        layout, model, loss = self.layout, self.model, self.config.loss
        projected = bool(self.projections)
        vectors = self.buffers.vectors if projected else model.entities
        gradients = self.buffers.gradients if projected else self.buffers.entity_gradients
        kinds: dict[str, Any] = {
            "PROJECTED": projected,
            "ADVERSARIAL": loss.name == "self_adversarial",
            "NORM": model.config.p_norm,
            "LENGTH": LENGTHS[model.config.projected_constraint],
            "CHUNK": min(COPIES, triton.next_power_of_2(layout.negatives)),
            "DIM": self._width,
            "num_warps": 1,  # lengths are summed inside a warp, without waiting for others
        }
        contrast_kernels.contrast[(layout.batch,)](
            *(self.counter, plan.relations, plan.replaces_head, plan.sizes, plan.row_entities),
            *(vectors, model.relations, gradients, self.buffers.relation_gradients),
            *(plan.triple_slots, plan.left_out, self.buffers.wanted, self.buffers.figures),
            *(self.losses, loss.margin, loss.adversarial_temperature),
            *(layout.batch, layout.rows, layout.negatives, model.config.dim),
            SHARED=layout.shared,
            **kinds,
        )
        if layout.shared:
            contrast_kernels.push_away[(layout.slots, triton.cdiv(layout.negatives, kinds["CHUNK"]))](
                *(self.counter, plan.sizes, plan.slot_relations, plan.slot_offsets, plan.row_entities, plan.left_out),
                *(
                    vectors,
                    self.buffers.wanted,
                    self.buffers.figures,
                    gradients,
                    loss.margin,
                    loss.adversarial_temperature,
                ),
                *(layout.batch, layout.slots, layout.rows, layout.negatives, model.config.dim),
                **kinds,
            )

    def _update_projections(self, plan: Plan) -> None:
        slots, size = self.layout.slots, self.model.config.dim**2
        for place, (name, projection) in enumerate(self.projections):
            if isinstance(projection, ConceptProjection):
                self._update_attention(plan, place * slots, name, projection)
                continue
            weights = f"{name}.weight"
            updates.update_matrices[(slots, triton.cdiv(size, BLOCK))](
                *(self.counter, plan.slot_relations, plan.segment_offsets, self.buffers.matrix_gradients),
                *(*self._state(weights), self.rates, self.model.learning_rate_factor(weights)),
                *(place * slots, slots, self.layout.groups, size),
                OPTIMIZER=self._optimizer,
                BLOCK=BLOCK,
            )
        if self.layout.concepts:
            self._update_concepts(plan)

    def _update_attention(self, plan: Plan, first: int, name: str, projection: ConceptProjection) -> None:
        slots, layout, scores = self.layout.slots, self.layout, f"{name}.scores"
        support = self.model.get_buffer(f"{name}.support")
        updates.measure_gains[(slots, layout.support)](
            *(self.counter, plan.slot_relations, plan.segment_offsets, projection.concepts),
            *(self.buffers.matrix_gradients, support, self.buffers.gains),
            *(first, slots, layout.groups, self.model.config.dim**2, layout.support),
            BLOCK=LONG_BLOCK,
            num_warps=8,
        )
        seen = (self.counter, plan.slot_relations, self.buffers.gains)
        if projection.kind == "l1":
            updates.update_free_weights[(slots,)](
                *(
                    *seen,
                    *self._state(scores),
                    self.rates,
                    self.model.learning_rate_factor(scores),
                    self.config.model.l1_weight,
                ),
                *(plan.sizes, plan.slot_offsets, first, slots, layout.concepts),
                OPTIMIZER=self._optimizer,
                K=triton.next_power_of_2(layout.concepts),
            )
        else:
            updates.update_scores[(slots,)](
                *(*seen, *self._state(scores, support), self.rates, projection.temperature),
                *(first, slots, layout.concepts, layout.support),
                OPTIMIZER=self._optimizer,
                K=triton.next_power_of_2(layout.support),
                COLUMNS=64,
            )

    def _update_concepts(self, plan: Plan) -> None:
        layout, size = self.layout, self.model.config.dim**2
        updates.update_concepts[(layout.concepts, triton.cdiv(size, NARROW_BLOCK))](
            *(self.counter, plan.users, plan.user_offsets, plan.segment_offsets),
            *(self.buffers.attention, self.buffers.matrix_gradients),
            *(*self._state("concepts"), self.rates, self.model.learning_rate_factor("concepts")),
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
             self.model.config.entity_constraint),
        ):  # fmt: skip
            updates.update_rows[(count,)](
                *(self.counter, keys, offsets, plan.entity_rows, gradients, *self._state(name), self.rates),
                *(self.model.learning_rate_factor(name), count, layout.rows, dim),
                LISTED=name == "entities",
                LENGTH=LENGTHS[length],
                OPTIMIZER=self._optimizer,
                CHUNK=CHUNK,
                DIM=self._width,
                num_warps=4 if self._width >= WIDE else 1,
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
