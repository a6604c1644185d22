"""Asking a model: missing parts of triples, scores of given triples, many queries at once."""

from __future__ import annotations

from itransf.prediction.batches import answer_queries
from itransf.prediction.completion import Prediction, complete
from itransf.prediction.queries import Query, TripleFile, read_candidates, read_queries, read_triples
from itransf.prediction.scoring import ScoredTriple, score_triples
from itransf.prediction.writing import write_table

__all__ = [
    "Prediction",
    "Query",
    "ScoredTriple",
    "TripleFile",
    "answer_queries",
    "complete",
    "read_candidates",
    "read_queries",
    "read_triples",
    "score_triples",
    "write_table",
]
