"""Prediction: missing parts of triples, scores of given triples, many queries at once."""

from __future__ import annotations

from itransf.prediction.calibration import Calibration as Calibration
from itransf.prediction.calibration import find_probabilities as find_probabilities
from itransf.prediction.calibration import fit_calibration as fit_calibration
from itransf.prediction.classification import ClassifiedTriple as ClassifiedTriple
from itransf.prediction.classification import classify_triples as classify_triples
from itransf.prediction.classification import judge as judge
from itransf.prediction.classification import read_claims as read_claims
from itransf.prediction.doubt import DoubtfulTriple as DoubtfulTriple
from itransf.prediction.doubt import doubt_triples as doubt_triples
from itransf.prediction.inputs import GivenTriple as GivenTriple
from itransf.prediction.inputs import LabelledTriple as LabelledTriple
from itransf.prediction.inputs import Query as Query
from itransf.prediction.inputs import find_problems as find_problems
from itransf.prediction.inputs import name_triple as name_triple
from itransf.prediction.inputs import read_candidates as read_candidates
from itransf.prediction.inputs import read_queries as read_queries
from itransf.prediction.inputs import read_triples as read_triples
from itransf.prediction.inputs import resolve_triples as resolve_triples
from itransf.prediction.missing import MissingTriple as MissingTriple
from itransf.prediction.missing import find_missing as find_missing
from itransf.prediction.outputs import check_suffix as check_suffix
from itransf.prediction.outputs import write_rows as write_rows
from itransf.prediction.outputs import write_table as write_table
from itransf.prediction.predict import Agreement as Agreement
from itransf.prediction.predict import Prediction as Prediction
from itransf.prediction.predict import answer_queries as answer_queries
from itransf.prediction.predict import complete as complete
from itransf.prediction.predict import find_agreement as find_agreement
from itransf.prediction.predict import find_only_answers as find_only_answers
from itransf.prediction.reliability import assess_calibration as assess_calibration
from itransf.prediction.score import ScoredTriple as ScoredTriple
from itransf.prediction.score import score_triples as score_triples
from itransf.prediction.search import DEFAULT_MEMORY as DEFAULT_MEMORY
from itransf.prediction.search import Search as Search
