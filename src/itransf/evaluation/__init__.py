"""Evaluation: filtered ranks and the metrics made of them."""

from __future__ import annotations

from itransf.evaluation.metrics import METRICS, Evaluation, evaluate, format_metric, summarise
from itransf.evaluation.ranking import Ranks, rank_as_predicted, rank_triples
from itransf.evaluation.skill import Skill, measure_skill

__all__ = [
    "METRICS",
    "Evaluation",
    "Ranks",
    "Skill",
    "evaluate",
    "format_metric",
    "measure_skill",
    "rank_as_predicted",
    "rank_triples",
    "summarise",
]
