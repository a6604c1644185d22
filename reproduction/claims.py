"""The claims of the paper in `claims.toml`, each judged by stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.experiments import WHOLE, Row, read_experiments, read_toml
from reproduction.results import Results
from reproduction.rows import Found
from reproduction.statistics import REPLICATES, Difference, Sample, format_difference
from reproduction.tables import MISSING, Cells, tabulate

NAMES = {"mr": "MR", "hits@10": "Hits@10", "seconds": "Time", "weights": "Weights"}
LOWER_IS_BETTER = ("mr", "seconds")


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that compares two rows.

    Attributes:
        text: The sentence.
        where: Graph and settings it is about.
        first: Preset and overrides of the first row.
        second: Those of the second row; empty where a constant replaces it.
        metrics: What is compared; see `tables.Found.sample`.
        wanted: "better", "no worse" (better or within noise) or "higher".
        slack: Difference that is tolerated, in favour of the first row.
        against: Constant that the first row is compared with.
        coded: Options of the sparse coding, where the second row is coded.
    """

    text: str
    where: str
    first: Sequence[str]
    second: Sequence[str] = ()
    metrics: Sequence[str] = ("mr", "hits@10")
    wanted: str = "better"
    slack: float = 0.0
    against: float = 0.0
    coded: Sequence[str] = ()


@dataclass(frozen=True)
class Verdict:
    """The judgement of a claim for one metric: a word, the difference, and whether a row has one seed only."""

    word: str
    difference: Difference | None = None
    one_seed: bool = False


def read_claims() -> list[Claim]:
    """Return all claims, in the order of the paper."""
    return [Claim(**content) for content in read_toml("claims.toml")["claim"]]


def judge(claim: Claim, metric: str, results: Results) -> Verdict:
    """Judge a claim for one metric."""
    rows = [Row("", claim.first[0], set=tuple(claim.first[1:]))]
    if claim.second:
        method = "sparse-coding" if claim.coded else "train"
        rows.append(Row("", claim.second[0], "", tuple(claim.second[1:]), method, tuple(claim.coded)))
    found = [Found(row, results, WHOLE) for row in rows]
    samples = [each.sample(metric) for each in found]
    if not all(sample.values.size for sample in samples):
        return Verdict("not measured")
    if not claim.second:
        samples.append(Sample(np.full(1, claim.against), np.full((1, REPLICATES), claim.against)))
    difference = samples[0].compare(samples[1])
    sign = -1 if metric in LOWER_IS_BETTER and claim.wanted != "higher" else 1
    shifted = difference.shift(sign * claim.slack)
    if shifted.is_noise:
        word = "holds" if claim.wanted == "no worse" else "within noise"
    else:
        word = "holds" if sign * shifted.value > 0 else "does not hold"
    one_seed = metric != "seconds" and min(len(each.records) for each in found) == 1
    return Verdict(word, difference, one_seed)


def write_verdict(claim: Claim, metric: str, verdict: Verdict) -> str:
    """Return a verdict and its difference."""
    if verdict.difference is None:
        return verdict.word
    name = f"{NAMES[metric]} " if len(claim.metrics) > 1 else ""
    return f"{name}{verdict.word}{'*' * verdict.one_seed} {format_difference(verdict.difference, metric)}"


def tabulate_claims(results: Results) -> Cells:
    """Return the verdicts on every claim, those on Figure 3 in one line."""
    rows: dict[str, list[str]] = {}
    for claim in read_claims():
        verdicts = [write_verdict(claim, metric, judge(claim, metric, results)) for metric in claim.metrics]
        rows.setdefault(claim.text, []).append(f"{claim.where}: {', '.join(verdicts)}")
    lines = [(text, "<br>".join(verdicts)) for text, verdicts in rows.items()]
    return Cells("", ("Claim", "Verdicts, difference (95 %)"), [*lines, judge_overlaps(results)], names=2)


def judge_overlaps(results: Results) -> tuple[str, str]:
    """Return how many of the paper's statements about Figure 3 hold."""
    tables = [tabulate(table, results) for table in read_experiments()["attention"].tables]
    verdicts = [row[-1] for table in tables for row in table.rows]
    held = f"{verdicts.count('holds')} of {len(verdicts)} statements hold" if verdicts else MISSING
    return ("Related relation sides share concepts (Figure 3)", held)
