"""Fused steps on a GPU: the kernel launches of one step, recorded once and replayed for all others."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from triton import cdiv, next_power_of_2

from itransf.config import Config
from itransf.models.base import QueryModel
from itransf.models.projection import ConceptProjection
from itransf.models.translation import Translation
from itransf.ops.dropout import MASK_32, find_threshold, mix_seeds
from itransf.training.fused import contrast_kernels, matrix_kernels, rotation_kernels, update_kernels
from itransf.training.fused.engine import OPERATIONS, FusedEngine, record
from itransf.training.fused.plan import Plan
from itransf.training.objectives import ContrastObjective
from itransf.training.optimizers import RowOptimizer

BLOCK = 1024  # numbers of a matrix that one program copies, composes or updates
NARROW_BLOCK = 256  # the same if few programs have many matrices to sum
LONG_BLOCK = 4096  # the same if a program reads whole matrices
OUT, INNER = 64, 16  # of a product: columns of one program, and numbers of each factor multiplied at once
SIDE, TERMS = 64, 16  # of a sum of outer products: rows and columns of one program, and terms added at once
CHUNK = 8  # rows or matrices that a program sums at once
NEGATIVES = 4  # negatives that a program compares at once
COLUMNS = 64  # attention scores that a program updates at once, fewer if supports are large
WIDE = 512  # vectors from this length on are summed by more than one warp


class GPUEngine(FusedEngine):
    """Launches GPU kernels; without a GPU (under triton's interpreter) they run one by one."""

    shares_negatives, lists_entities, drops = True, True, True
    operations: ClassVar[dict[str, tuple[str, ...]]] = {"add": ("l1", "l2"), "rotate": ("modulus",)}

    @classmethod
    def has_kernels(cls, model: QueryModel) -> bool:
        """Return whether there are kernels for a model; those that rotate neither project nor drop."""
        plain = not isinstance(model, Translation) and not model.dropout
        return super().has_kernels(model) and (model.operation == "add" or plain)

    def __init__(
        self, model: QueryModel, objective: ContrastObjective, optimizer: RowOptimizer, config: Config
    ) -> None:
        super().__init__(model, objective, optimizer, config)
        self.device = objective.train.device
        self.recording: Any = None
        self.plan: Plan | None = None
        self.counter = torch.zeros(1, dtype=torch.int32, device=self.device)
        self.seeds = torch.zeros(self.planned_steps, dtype=torch.int64, device=self.device)
        self.arguments: dict[str, Any] = {
            **self.layout._asdict(),
            **self.options._asdict(),
            **self.buffers._asdict(),
            **self._choose_constants(),
            "counter": self.counter,
            "seeds": self.seeds,
            "drop_threshold": find_threshold(model.dropout),
            "keep_scale": 1 / (1 - model.dropout),
            "rates": self.rates,
            "losses": self.losses,
            "entity_table": model.get_parameter("entities"),
            "relation_table": model.get_parameter("relations"),
            "concept_table": getattr(model, "concepts", None),
        }
        if not self.projections:
            self.arguments["vectors"] = self.arguments["entity_table"]
            self.arguments["gradients"] = self.buffers.entity_gradients

    def _choose_constants(self) -> dict[str, Any]:
        """Return the compile-time constants of the kernels."""
        layout, options = self.layout, self.options
        width, places = pad_width(layout.dim), next_power_of_2(layout.support_size)
        return {
            "DIM": width,
            "RELATION_DIM": pad_width(layout.relation_dim),
            "NORM": options.comparison,
            "OPTIMIZER": options.optimizer,
            "ADVERSARIAL": options.adversarial,
            "CONSTRAINT": options.projected_constraint,
            "DROPS": self.model.dropout > 0,
            "PROJECTED": options.projection > 0,
            "FREE": options.projection == 3,
            "SHARED": layout.shared,
            "PRECISION": choose_precision(self.device),
            "DIAGONAL": layout.matrix_size == layout.dim,
            "K": places,
            "TILE": layout.tile,
            "SEGMENT": layout.segment,
            "OUT": min(OUT, width),
            "INNER": min(INNER, width),
            "SIDE": min(SIDE, width),
            "TERMS": TERMS,
            "NEGATIVES": min(NEGATIVES, next_power_of_2(layout.negatives)),
            "BLOCK": BLOCK,
            "NARROW_BLOCK": NARROW_BLOCK,
            "LONG_BLOCK": min(LONG_BLOCK, next_power_of_2(layout.matrix_size)),
            "CHUNK": CHUNK,
            "COLUMNS": max(1, min(COLUMNS, 8 * COLUMNS // max(1, places))),
        }

    def run_planned(self, plan: Plan, steps: int) -> None:
        """Run the steps: on a GPU the first ever compiles the kernels, then one is recorded and the rest replayed.

        A recorded step reads a plan whose addresses in memory are the same in every call.
        """
        if self.plan is None:
            self.plan = plan.new_steps(self.planned_steps)
        plan.copy_into(self.plan)
        plan = self.plan
        self.arguments |= plan._asdict()
        self.counter.zero_()
        numbers = torch.arange(self.planned_steps, device="cpu")
        self.seeds.copy_(mix_seeds((self.config.seed + self.optimizer.steps & MASK_32) + numbers))
        if self.device.type != "cuda":
            for _ in range(steps):
                self._launch_step(plan)
            return
        if self.recording is None:
            self.recording = record(lambda: self._launch_step(plan), 1)
            steps -= 1
        for _ in range(steps):
            self.recording.replay()

    def _launch(self, kernel: Any, *grid: int, **arguments: Any) -> None:
        """Launch a kernel; arguments that are not given are taken from the engine's by their names."""
        for name in kernel.arg_names:
            if name not in arguments:
                arguments[name] = self.arguments[name]
        kernel[grid](**arguments)

    def _launch_step(self, plan: Plan) -> None:
        """Launch the kernels of one step."""
        if self.projections:
            self._make_matrices()
            self._multiply(self.model.get_parameter("entities"), self.buffers.vectors, forward=True)
        self._contrast()
        if self.projections:
            self._multiply(self.buffers.gradients, self.buffers.entity_gradients, forward=False)
            self._sum_matrix_gradients()
            self._update_projections()
        self._update_embeddings(plan)
        self.counter.add_(1)

    def _make_matrices(self) -> None:
        slots, blocks = self.layout.slots, cdiv(self.layout.matrix_size, BLOCK)
        for place, (_, projection) in enumerate(self.projections):
            if isinstance(projection, ConceptProjection):
                kernel = matrix_kernels.compose_matrices
                arguments = {"scores": projection.scores, "support": projection.support}
            else:
                kernel, arguments = matrix_kernels.copy_matrices, {"weights": projection.weight}
            self._launch(kernel, slots, blocks, first_group=place * slots, **arguments)

    def _multiply(self, source: Tensor, products: Tensor, forward: bool) -> None:
        """Multiply rows of the entity table by their matrices, or gradients of rows by the transposed matrices."""
        dim = self.layout.dim
        across, along = (dim, 1) if forward else (1, dim)
        strides = {"across": across, "along": along, "GATHER": forward}
        grid = (self.layout.tiles, cdiv(dim, OUT))
        self._launch(matrix_kernels.multiply_rows, *grid, source=source, products=products, **strides)

    def _sum_matrix_gradients(self) -> None:
        layout, blocks = self.layout, cdiv(self.layout.dim, self.arguments["SIDE"])
        across = 1 if self.arguments["DIAGONAL"] else blocks
        self._launch(matrix_kernels.sum_outer_products, layout.segments, blocks, across, num_stages=2)
        self._launch(matrix_kernels.add_segments, layout.groups, cdiv(layout.matrix_size, BLOCK))

    def _contrast(self) -> None:
        layout = self.layout
        kernels: Any = rotation_kernels if self.options.operation == OPERATIONS["rotate"] else contrast_kernels
        # Distances are summed inside a warp, without waiting for others, while its registers hold the vectors.
        warps = max(1, self.arguments["DIM"] // WIDE)
        self._launch(kernels.contrast, layout.batch, num_warps=warps)
        if layout.shared:
            blocks = cdiv(layout.negatives, self.arguments["NEGATIVES"])
            self._launch(kernels.sum_shared_gradients, layout.slots, blocks, num_warps=warps)

    def _update_projections(self) -> None:
        slots, size = self.layout.slots, self.layout.matrix_size
        for place, (name, projection) in enumerate(self.projections):
            if isinstance(projection, ConceptProjection):
                self._update_attention(place * slots, f"{name}.scores", projection.support)
            else:
                table = self._table(f"{name}.weight")
                self._launch(
                    update_kernels.update_matrices, slots, cdiv(size, BLOCK), first_group=place * slots, **table
                )
        if self.layout.concepts:
            grid = (self.layout.concepts, cdiv(size, NARROW_BLOCK))
            self._launch(update_kernels.update_concepts, *grid, **self._table("concepts"))

    def _update_attention(self, first_group: int, name: str, support: Tensor) -> None:
        slots, arguments = self.layout.slots, {"first_group": first_group, "support": support}
        grid = (slots, self.layout.support_size)
        self._launch(update_kernels.measure_weight_gradients, *grid, **arguments, num_warps=8)
        self._launch(update_kernels.update_scores, slots, **arguments, **self._table(name))

    def _update_embeddings(self, plan: Plan) -> None:
        buffers, warps = self.buffers, 4 if self.arguments["DIM"] >= WIDE else 1
        lists = {"keys": plan.slot_relations, "offsets": plan.slot_offsets, "gradients": buffers.relation_gradients}
        widths = {"dim": self.layout.relation_dim, "DIM": self.arguments["RELATION_DIM"]}
        self._update_rows("relations", **lists, **widths, LISTED=False, CONSTRAINT=0, num_warps=warps)
        lists = {"keys": plan.entity_keys, "offsets": plan.entity_offsets, "gradients": buffers.entity_gradients}
        constraint = self.options.entity_constraint
        self._update_rows("entities", **lists, LISTED=True, CONSTRAINT=constraint, num_warps=warps)

    def _update_rows(self, name: str, keys: Tensor, **arguments: Any) -> None:
        count = keys.shape[1]
        self._launch(update_kernels.update_rows, count, **self._table(name), keys=keys, count=count, **arguments)

    def _table(self, name: str) -> dict[str, Any]:
        """Return a parameter, its optimizer states and its learning-rate factor as arguments of update kernels."""
        table, first, second = self.with_states(name)
        return {"table": table, "first_state": first, "second_state": second, "factor": self.optimizer.factors[name]}


def pad_width(dim: int) -> int:
    """Return the power of two by which kernels hold vectors of `dim` numbers."""
    return max(16, int(next_power_of_2(dim)))


def choose_precision(device: torch.device) -> str:
    """Return the precision of products: three TF32 passes on tensor cores, if there are any, reach that of float32.

    Each factor is split into two TF32 numbers that together hold nearly all its bits, unlike plain TF32.
    """
    has_cores = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    return "tf32x3" if has_cores else "ieee"
