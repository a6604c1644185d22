"""Choosing settings among candidates, by what they do on validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.rarity import RAREST
from itransf.experiments.reproduction.results import Record, Results

SLACK = 0.002  # of Hits@10 that a candidate may lack of the best one's
NOISE = 1.02  # times the lowest mean rank, below which candidates count as level


class Figures(NamedTuple):
    """How a candidate does on validation, on average over its seeds; of the rarest relations, if that was stored."""

    mr: float
    mrr: float
    hits: float
    seeds: int
    rarest: float | None = None


Rule = Callable[[Mapping[str, Figures]], str]
"""Returns the candidate to take."""


@dataclass(frozen=True)
class Choice:
    """What a preset was chosen from.

    Attributes:
        title: Whose settings these are.
        preset: The preset that has what was chosen.
        candidates: What each of them sets.
        rule: Which of them to take.
        base: The preset that candidates are variants of; the same one, if not given.
    """

    title: str
    preset: str
    candidates: Mapping[str, tuple[str, ...]]
    rule: Rule
    base: str = ""

    def list_jobs(self, scope: Scope) -> dict[str, Job]:
        """Return the trainings of its candidates."""
        return scope.make_variants(self.base or self.preset, self.candidates)

    def measure(self, results: Results, scope: Scope) -> dict[str, Figures]:
        """Return the figures of those candidates that have any."""
        records = {words: results.find_seeds(job) for words, job in self.list_jobs(scope).items()}
        return {words: average(found) for words, found in records.items() if found}

    def choose(self, figures: Mapping[str, Figures]) -> str | None:
        """Return the candidate to take; none before all are measured."""
        return self.rule(figures) if len(figures) == len(self.candidates) else None


def average(records: list[Record]) -> Figures:
    """Return the mean figures of a candidate's seeds."""
    mr, mrr, hits = (fmean(record["valid"][metric] for record in records) for metric in ("mr", "mrr", "hits@10"))
    stored = all("valid_buckets" in record for record in records)
    rarest = fmean(record["valid_buckets"][RAREST] for record in records) if stored else None
    return Figures(mr, mrr, hits, len(records), rarest)


def take_lowest_rank(figures: Mapping[str, Figures], enough: float) -> str:
    """Return the candidate with the lowest mean rank of those with enough Hits@10."""
    return min((name for name, each in figures.items() if each.hits >= enough), key=lambda name: figures[name].mr)


def take_lowest_rank_near_best_hits(figures: Mapping[str, Figures]) -> str:
    """Return the candidate with the lowest mean rank of those that lack little of the best Hits@10."""
    return take_lowest_rank(figures, max(each.hits for each in figures.values()) - SLACK)


def take_lowest_rank_at_no_cost(usual: str, figures: Mapping[str, Figures]) -> str:
    """Return the candidate with the lowest mean rank of those whose Hits@10 is no lower than the usual one's."""
    return take_lowest_rank(figures, figures[usual].hits)


def take_most_of_the_rarest_near_lowest_rank(figures: Mapping[str, Figures]) -> str:
    """Return the candidate that finds most of the rarest relations, of those whose mean rank is about the lowest."""
    enough = NOISE * min(each.mr for each in figures.values())
    level = {name: each.rarest or 0.0 for name, each in figures.items() if each.mr <= enough}
    return max(level, key=lambda name: level[name])


def take_highest_mrr(figures: Mapping[str, Figures]) -> str:
    """Return the candidate with the highest MRR."""
    return max(figures, key=lambda name: figures[name].mrr)
