"""Evaluation: filtered ranks and the metrics made of them."""

from __future__ import annotations

from itransf.evaluation.metrics import METRICS as METRICS
from itransf.evaluation.metrics import Evaluation as Evaluation
from itransf.evaluation.metrics import evaluate as evaluate
from itransf.evaluation.metrics import format_metric as format_metric
from itransf.evaluation.metrics import rank_both as rank_both
from itransf.evaluation.metrics import summarise as summarise
from itransf.evaluation.ranking import Ranks as Ranks
from itransf.evaluation.ranking import rank_as_predicted as rank_as_predicted
from itransf.evaluation.ranking import rank_triples as rank_triples
from itransf.evaluation.ranking import sample_triples as sample_triples
from itransf.evaluation.rules import RuleList as RuleList
from itransf.evaluation.rules import blend_with_rules as blend_with_rules
from itransf.evaluation.skill import BETTER as BETTER
from itransf.evaluation.skill import Skill as Skill
from itransf.evaluation.skill import measure_skill as measure_skill
