"""Rows of tables with their stored results, and the rules by which settings were chosen among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from itransf.data.vocabulary import Vocabulary
from itransf.interpret import Attention
from reproduction.experiments import WHOLE, Row, Scope, Table
from reproduction.measurement import unpack_attention
from reproduction.methods import read_seconds
from reproduction.results import Record, Results
from reproduction.statistics import REPLICATES, Floats, Sample, read_sample, resample_means

EMPTY = Sample(np.empty(0), np.empty((0, 0)))
LARGE = 0.1  # share of a side's largest weight from which a weight counts as large
SLACK, NOISE = 0.002, 1.02
"""Hits@10 that a candidate may lack of the best, and factor on the lowest mean rank up to which ranks are level."""
SHORT = {
    "/award/award_winner/awards_won./award/award_honor/honored_for": "won_award_for",
    "/award/award_winning_work/awards_won./award/award_honor/award_winner": "award_winning_work",
    "/award/award_nominee/award_nominations./award/award_nomination/nominated_for": "was_nominated_for",
    "/people/person/spouse_s./people/marriage/spouse": "spouse",
}
"""What the paper calls relations of FB15k, as far as can be told."""


@dataclass(frozen=True, eq=False)
class Found:
    """A row and its stored results, one for each seed."""

    row: Row
    results: Results
    scope: Scope

    @cached_property
    def records(self) -> list[Record]:
        """The results, in the order of the seeds."""
        found = self.results.find_seeds(self.row.make_job(self.scope))
        return [each for each in found if self.row.seed in (None, each["seed"])]

    def sample(self, metric: str, split: str = "metrics") -> Sample:
        """Return a metric of all seeds, empty if nothing is stored.

        "seconds" is the time of an epoch, "weights" the number of large attention weights of a relation side; see
        `statistics.read_sample` for the others.
        """
        if metric == "seconds":
            job = self.row.make_job(self.scope)
            timed = self.results.find(job.timing)
            return read_seconds(timed["seconds_of_epochs"], job.resolve(), job.row_key) if timed else EMPTY
        if not self.records:
            return EMPTY
        if metric == "weights":
            large = (self.list_weights() >= LARGE).sum(axis=1).astype(np.float64)
            replicates = resample_means(large[:, None], REPLICATES, np.random.default_rng(0))
            return Sample(large.mean(keepdims=True), replicates.T)
        return read_sample(self.records, metric, split)

    @cached_property
    def attention(self) -> list[Attention]:
        """The attention of each seed that has one, with the relation names of the paper."""
        found = [unpack_attention(record["attention"]) for record in self.records if record.get("attention")]
        return [replace(each, relations=_label(each.relations)) for each in found]

    def list_weights(self) -> Floats:
        """Return the sizes of all attention weights as shares of the largest of their side, (sides, m)."""
        weights = [scale_rows(each).weights for each in self.attention]
        table = np.concatenate([each.reshape(-1, each.shape[2]) for each in weights])
        return np.asarray(np.abs(table), dtype=np.float64)


def _label(relations: Vocabulary) -> Vocabulary:
    labels = {name: SHORT.get(name, name.strip("_")) for name in relations.names}
    return Vocabulary(relations.names, labels, kind="relation")


def scale_rows(attention: Attention) -> Attention:
    """Return attention with weights as shares of the largest (in size) of their side."""
    largest = np.abs(attention.weights).max(axis=2, keepdims=True)
    weights = (attention.weights / np.where(largest > 0, largest, 1)).astype(np.float32)
    return replace(attention, weights=weights, kind="l1" if (weights < 0).any() else "sparse")


@dataclass(frozen=True, eq=False)
class Filled:
    """A table and the stored results of its rows."""

    table: Table
    rows: Sequence[Found]

    @cached_property
    def marked(self) -> list[Found]:
        """The rows that the table's rule marks; none before all rows are measured."""
        if not self.table.rule or not all(found.records for found in self.rows):
            return []
        return RULES[self.table.rule](self.rows, self.find(self.table.baseline))

    def find(self, label: str) -> Found | None:
        """Return the first row with this label."""
        return next((found for found in self.rows if found.row.label == label), None)


def fill(table: Table, results: Results, scope: Scope = WHOLE) -> Filled:
    """Return a table with its stored results."""
    return Filled(table, [Found(row, results, scope) for row in table.list_rows(scope)])


def average(found: Found, metric: str) -> float:
    """Return the mean of a validation metric over seeds."""
    return float(found.sample(metric, "valid").values.mean())


def take_lowest_mr(rows: Sequence[Found], enough: float) -> list[Found]:
    """Return the row with the lowest mean rank among those with enough Hits@10."""
    return [min((row for row in rows if average(row, "hits@10") >= enough), key=partial(average, metric="mr"))]


def take_near_best_hits(rows: Sequence[Found], baseline: Found | None) -> list[Found]:
    """Return the row with the lowest mean rank among those that lack little of the best Hits@10."""
    return take_lowest_mr(rows, max(average(row, "hits@10") for row in rows) - SLACK)


def take_at_no_cost(rows: Sequence[Found], baseline: Found | None) -> list[Found]:
    """Return the row with the lowest mean rank among those whose Hits@10 is not below the baseline's."""
    assert baseline is not None, "this rule needs a baseline"
    return take_lowest_mr(rows, average(baseline, "hits@10"))


def take_best_rarest(rows: Sequence[Found], baseline: Found | None) -> list[Found]:
    """Return the row with most Hits@10 on the rarest third among those whose mean rank is about the lowest."""
    enough = NOISE * min(average(row, "mr") for row in rows)
    return [max((row for row in rows if average(row, "mr") <= enough), key=partial(average, metric="rarest"))]


def take_highest_mrr(rows: Sequence[Found], baseline: Found | None) -> list[Found]:
    """Return the row with the highest MRR."""
    return [max(rows, key=partial(average, metric="mrr"))]


def take_better(rows: Sequence[Found], baseline: Found | None) -> list[Found]:
    """Return the rows better than the baseline: on average in both metrics, and in one of them with every seed."""
    assert baseline is not None, "this rule needs a baseline"
    usual_mr, usual_hits = (baseline.sample(metric, "valid").values for metric in ("mr", "hits@10"))
    found = []
    for row in rows:
        mr, hits = (row.sample(metric, "valid").values for metric in ("mr", "hits@10"))
        on_average = mr.mean() < usual_mr.mean() and hits.mean() > usual_hits.mean()
        if on_average and (mr.max() < usual_mr.min() or hits.min() > usual_hits.max()):
            found.append(row)
    return found


RULES: dict[str, Callable[[Sequence[Found], Found | None], list[Found]]] = {
    "lowest_mr_near_best_hits": take_near_best_hits,
    "lowest_mr_at_no_cost_in_hits": take_at_no_cost,
    "best_rarest_near_lowest_mr": take_best_rarest,
    "highest_mrr": take_highest_mrr,
    "better": take_better,
}
