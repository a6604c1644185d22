"""Fused steps on a CPU."""

from __future__ import annotations

from threading import Lock

import numba
import numpy as np
import torch

from itransf.models.projection import ConceptProjection
from itransf.ops.compilation import announce_compilation
from itransf.training.fused.compiled_step import ProjectionTables, Table, run_steps
from itransf.training.fused.engine import COMPARISONS, OPERATIONS, Buffers, FusedEngine
from itransf.training.fused.plan import Plan

MOST_THREADS: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # all cores, or what its environment allows
NO_SUPPORT = np.zeros((0, 0), dtype=np.int64)
RUNNING = Lock()  # some threading layers of numba run one parallel function at a time; a step takes all threads anyway


class CPUEngine(FusedEngine):
    """Runs all planned steps in one call of compiled code, on as many threads as torch uses."""

    shares_negatives, lists_entities, drops = False, False, False
    operations = dict.fromkeys(OPERATIONS, tuple(COMPARISONS))

    def run_planned(self, plan: Plan, steps: int) -> None:
        """Run the steps."""
        threads = torch.get_num_threads()
        numba.set_num_threads(min(threads, MOST_THREADS))
        torch.set_num_threads(threads)  # numba starts OpenMP with all cores
        with RUNNING, announce_compilation("the training step"):
            run_steps(
                steps,
                numba.get_num_threads(),
                self.layout,
                self.options,
                Plan._make(tensor.numpy() for tensor in plan),
                self._table("entities"),
                self._table("relations"),
                self._list_tables(),
                Buffers._make(tensor.numpy() for tensor in self.buffers),
                self.rates.numpy(),
                self.losses.numpy(),
            )

    def _table(self, name: str) -> Table:
        """Return a parameter and its optimizer states as arrays of rows that share their memory."""
        return Table._make(tensor.detach().reshape(len(tensor), -1).numpy() for tensor in self.with_states(name))

    def _list_tables(self) -> ProjectionTables:
        """Return the tables of both sides' projections; a missing side repeats the other."""
        sides = []
        for name, projection in self.projections:
            if isinstance(projection, ConceptProjection):
                sides.append((self._table(f"{name}.scores"), projection.support.numpy()))
            else:
                sides.append((self._table(f"{name}.weight"), NO_SUPPORT))
        unused = self._table("relations")
        (head, head_support), (tail, tail_support) = (sides * 2)[:2] or [(unused, NO_SUPPORT)] * 2
        concepts = self._table("concepts") if self.layout.concepts else unused
        return ProjectionTables(head, tail, head_support, tail_support, concepts)
