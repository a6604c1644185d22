"""Fused steps on a CPU."""

from __future__ import annotations

import numba
import numpy as np
import torch
from torch import Tensor

from itransf.models.projection import ConceptProjection, FullProjection
from itransf.ops.compilation import announce_compilation
from itransf.training.fused.compiled.arguments import Projections, Room, Sizes, Steps, Table
from itransf.training.fused.compiled.stepping import run_steps
from itransf.training.fused.engine import LENGTHS, OPTIMIZERS, FusedEngine
from itransf.training.fused.plan import Plan

MOST_THREADS: int = numba.get_num_threads()  # as numba starts: all cores, or what its environment allows
NO_SUPPORT = np.zeros((0, 0), dtype=np.int64)


class CompiledEngine(FusedEngine):
    """Runs all planned steps in one call of compiled code, on as many threads as torch uses."""

    shares_negatives = False

    def run_planned(self, plan: Plan, steps: int) -> None:
        """Run the steps."""
        numba.set_num_threads(min(torch.get_num_threads(), MOST_THREADS))
        with announce_compilation("the training step"):
            run_steps(
                *(steps, self._describe(), Steps(*(getattr(plan, name).numpy() for name in Steps._fields))),
                *(self._table("entities"), self._table("relations"), self._list_projections()),
                Room(*(getattr(self.buffers, name).numpy() for name in Room._fields)),
                *(self.rates.numpy(), self.losses.numpy()),
            )

    def _describe(self) -> Sizes:
        layout, model, loss = self.layout, self.model.config, self.config.loss
        return Sizes(
            batch=layout.batch,
            negatives=layout.negatives,
            slots=layout.slots,
            groups=layout.groups,
            segment=layout.segment,
            support=layout.support,
            dim=model.dim,
            kind=self._tell_kind(),
            norm=model.p_norm,
            projected=LENGTHS[model.projected_constraint],
            entities=LENGTHS[model.entity_constraint],
            adversarial=int(loss.name == "self_adversarial"),
            optimizer=OPTIMIZERS[self.config.training.optimizer],
            margin=float(loss.margin),
            loss_temperature=float(loss.adversarial_temperature),
            temperature=float(getattr(model, "temperature", 1.0)),
            matrix_lr_factor=float(model.matrix_lr_factor),
            weight_penalty=float(getattr(model, "l1_weight", 0.0)),
        )

    def _tell_kind(self) -> int:
        """Return how matrices come about, as a number; see `arguments.Sizes`."""
        if not self.projections:
            return 0
        projection = self.projections[0][1]
        if not isinstance(projection, ConceptProjection):
            return 1
        return 3 if projection.kind == "l1" else 2

    def _table(self, name: str) -> Table:
        """Return a parameter and its optimiser states as arrays that share their memory."""
        parameter = self.model.get_parameter(name).detach()
        states = [self.optimizer.state[f"{name}.{slot}"] for slot in self.optimizer.slots]
        flat = [as_rows(tensor) for tensor in (parameter, *states, parameter, parameter)]
        return Table(*flat[:3])

    def _list_projections(self) -> Projections:
        """Return what both sides project with; a side that is not there repeats the other."""
        tables, supports = [], []
        for name, projection in self.projections:
            tables.append(self._table(f"{name}.weight" if isinstance(projection, FullProjection) else f"{name}.scores"))
            supports.append(projection.support.numpy() if isinstance(projection, ConceptProjection) else NO_SUPPORT)
        nothing = self._table("relations")
        tables, supports = [*tables, nothing, nothing], [*supports, NO_SUPPORT, NO_SUPPORT]
        if len(self.projections) == 1:
            tables[1], supports[1] = tables[0], supports[0]
        concepts = self._table("concepts") if self.layout.concepts else nothing
        return Projections(tables[0], tables[1], supports[0], supports[1], concepts)


def as_rows(tensor: Tensor) -> np.ndarray:
    """Return a tensor as an array of rows, (n, d)."""
    return tensor.reshape(len(tensor), -1).numpy()
