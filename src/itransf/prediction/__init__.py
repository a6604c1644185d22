"""Asking a model: missing parts of facts, scores of given facts, many queries at once."""

from __future__ import annotations

from itransf.prediction.batches import answer_queries
from itransf.prediction.completion import Prediction, complete
from itransf.prediction.queries import FactFile, Query, read_candidates, read_facts, read_queries
from itransf.prediction.scoring import ScoredFact, score_facts
from itransf.prediction.writing import write_table

__all__ = [
    "FactFile",
    "Prediction",
    "Query",
    "ScoredFact",
    "answer_queries",
    "complete",
    "read_candidates",
    "read_facts",
    "read_queries",
    "score_facts",
    "write_table",
]
