"""Prediction: missing parts of triples, scores of given triples, many queries at once."""

from __future__ import annotations

from itransf.prediction.agreement import AGREED, Agreement
from itransf.prediction.batch import answer_queries
from itransf.prediction.calibration import Calibration, find_probabilities, fit_calibration
from itransf.prediction.classification import ClassifiedTriple, classify_triples, judge, read_claims
from itransf.prediction.doubt import DoubtfulTriple, doubt_triples
from itransf.prediction.inputs import Query, TripleFile, find_problems, read_candidates, read_queries, read_triples
from itransf.prediction.missing import MissingTriple, find_missing
from itransf.prediction.outputs import check_suffix, write_rows, write_table
from itransf.prediction.predict import Prediction, complete, find_only_answers
from itransf.prediction.reliability import assess_calibration
from itransf.prediction.score import ScoredTriple, score_triples

__all__ = [
    "AGREED",
    "Agreement",
    "Calibration",
    "ClassifiedTriple",
    "DoubtfulTriple",
    "MissingTriple",
    "Prediction",
    "Query",
    "ScoredTriple",
    "TripleFile",
    "answer_queries",
    "assess_calibration",
    "check_suffix",
    "classify_triples",
    "complete",
    "doubt_triples",
    "find_missing",
    "find_only_answers",
    "find_probabilities",
    "find_problems",
    "fit_calibration",
    "judge",
    "read_candidates",
    "read_claims",
    "read_queries",
    "read_triples",
    "score_triples",
    "write_rows",
    "write_table",
]
