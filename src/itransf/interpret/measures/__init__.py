"""Measuring how far a model can be read: figures with intervals and permutation nulls, baselines beside them."""

from __future__ import annotations

from itransf.interpret.measures.domains import measure_domains
from itransf.interpret.measures.faithfulness import measure_faithfulness
from itransf.interpret.measures.findings import DRAWS, Finding
from itransf.interpret.measures.gathering import Interpretation, find_scale, interpret_runs, measure_attention
from itransf.interpret.measures.gold import Gold, mine_gold
from itransf.interpret.measures.inverses import measure_inverses
from itransf.interpret.measures.rarity import measure_borrowing, measure_gain
from itransf.interpret.measures.readings import Reading, draw_random, read_model, read_weights
from itransf.interpret.measures.recovery import measure_recovery
from itransf.interpret.measures.sparsity import measure_sparsity
from itransf.interpret.measures.stability import measure_stability
from itransf.interpret.measures.symmetry import measure_symmetry

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
    "measure_borrowing",
    "measure_domains",
    "measure_faithfulness",
    "measure_gain",
    "measure_inverses",
    "measure_recovery",
    "measure_sparsity",
    "measure_stability",
    "measure_symmetry",
    "mine_gold",
    "read_model",
    "read_weights",
]
