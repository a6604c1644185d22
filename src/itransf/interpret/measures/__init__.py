"""How far a model can be read: figures with intervals and permutation nulls, beside those of baselines."""

from __future__ import annotations

from itransf.interpret.measures.faithfulness import measure_faithfulness, measure_gain, measure_transfer
from itransf.interpret.measures.statistics import DRAWS, Finding
from itransf.interpret.measures.structure import (
    Gold,
    Reading,
    draw_random,
    measure_domains,
    measure_inverses,
    measure_sparsity,
    measure_stability,
    measure_symmetry,
    mine_gold,
    read_model,
)
from itransf.interpret.measures.table import Interpretation, find_scale, interpret_runs, measure_attention

__all__ = [
    "DRAWS",
    "Finding",
    "Gold",
    "Interpretation",
    "Reading",
    "draw_random",
    "find_scale",
    "interpret_runs",
    "measure_attention",
    "measure_domains",
    "measure_faithfulness",
    "measure_gain",
    "measure_inverses",
    "measure_sparsity",
    "measure_stability",
    "measure_symmetry",
    "measure_transfer",
    "mine_gold",
    "read_model",
]
