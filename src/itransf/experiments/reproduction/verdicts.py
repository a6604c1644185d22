"""Judging a claim: holds, does not hold, or cannot be told from noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from itransf.experiments.reproduction.jobs import Job
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import MISSING
from itransf.experiments.reproduction.summaries import Difference, Summary, format_metric, summarise

Word = Literal["holds", "does not hold", "within noise", "not measured yet"]
Metric = Literal["mr", "hits@10"]
NAMES: dict[Metric, str] = {"mr": "MR", "hits@10": "Hits@10"}
HIGHER_IS_BETTER: dict[Metric, bool] = {"mr": False, "hits@10": True}


@dataclass(frozen=True)
class Verdict:
    """What the results say about a claim.

    Attributes:
        word: The judgement.
        detail: The figures it rests on, in words.
        one_seed: Whether a row behind it was trained with one seed only.
    """

    word: Word
    detail: str = "–"
    one_seed: bool = False

    @property
    def words(self) -> str:
        """The judgement, and whether it is one about a single seed."""
        return f"{self.word} (one seed)" if self.one_seed else self.word


NOT_MEASURED = Verdict(MISSING)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that results can bear out or not.

    Attributes:
        text: The sentence.
        where: The graph and the metric it is about.
        judge: Returns the verdict on stored results.
    """

    text: str
    where: str
    judge: Callable[[Results], Verdict]


def judge_sign(difference: Difference, wanted: Literal[1, -1]) -> Word:
    """Return whether a difference has the wanted sign, as far as its interval can tell."""
    if difference.interval.holds_zero:
        return "within noise"
    return "holds" if difference.value * wanted > 0 else "does not hold"


def judge_rise(results: Results, after: Job, before: Job, metric: Metric) -> Verdict:
    """Judge that a metric is higher for one row than for another."""
    return _judge(results, after, before, metric, 1)


def judge_better(results: Results, ahead: Job, behind: Job, metric: Metric) -> Verdict:
    """Judge that one row does better than another: a lower mean rank, higher Hits@10."""
    return _judge(results, ahead, behind, metric, 1 if HIGHER_IS_BETTER[metric] else -1)


def judge_no_worse(results: Results, row: Job, other: Job, metric: Metric) -> Verdict:
    """Judge that one row does no worse than another: it is not behind by more than noise."""
    found = judge_better(results, row, other, metric)
    return replace(found, word="holds") if found.word == "within noise" else found


def _judge(results: Results, first: Job, second: Job, metric: Metric, wanted: Literal[1, -1]) -> Verdict:
    rows = [summarise(results.find_seeds(job)) for job in (first, second)]
    if rows[0] is None or rows[1] is None:
        return NOT_MEASURED
    difference = rows[0].compare(rows[1], metric)
    return conclude(judge_sign(difference, wanted), rows[0], rows[1], metric, difference)


def conclude(word: Word, first: Summary, second: Summary, metric: Metric, difference: Difference) -> Verdict:
    """Return a verdict with what it rests on."""
    one_seed = min(len(row.records) for row in (first, second)) == 1
    return Verdict(word, describe_difference(first, second, metric, difference), one_seed)


def describe_difference(first: Summary, second: Summary, metric: Metric, difference: Difference) -> str:
    """Return both figures, their difference and its interval, and how many seeds they come from."""
    figures = " against ".join(format_metric(row.median(metric), metric) for row in (first, second))
    seeds = " and ".join(str(len(row.records)) for row in (first, second))
    return f"{figures}: {write_difference(difference, metric)}; seeds: {seeds}"


def write_difference(difference: Difference, metric: Metric) -> str:
    """Return a difference with its sign, and its interval; Hits in points."""
    scale, decimals = (1.0, 1) if metric == "mr" else (100.0, 2)
    value, low, high = (
        f"{scale * number:+,.{decimals}f}"
        for number in (difference.value, difference.interval.low, difference.interval.high)
    )
    return f"{value} ({low} to {high})"
