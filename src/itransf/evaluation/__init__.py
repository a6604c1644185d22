"""Evaluation: filtered ranks and the metrics made of them."""

from __future__ import annotations

from itransf.evaluation.metrics import METRICS, Evaluation, evaluate, format_metric, summarise
from itransf.evaluation.ranking import Ranks, rank_as_predicted, rank_triples

__all__ = [
    "METRICS",
    "Evaluation",
    "Ranks",
    "evaluate",
    "format_metric",
    "rank_as_predicted",
    "rank_triples",
    "summarise",
]
