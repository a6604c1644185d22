"""Measuring: filtered ranks and what is made of them."""

from __future__ import annotations

from itransf.evaluation.metrics import METRICS, summarise
from itransf.evaluation.ranking import Ranks, rank_triples
from itransf.evaluation.report import Evaluation, evaluate

__all__ = ["METRICS", "Evaluation", "Ranks", "evaluate", "rank_triples", "summarise"]
