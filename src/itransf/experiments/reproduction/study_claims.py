"""The paper's claims about sparseness, compression, domain sampling and sparse coding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from itransf.experiments.reproduction import paper
from itransf.experiments.reproduction.bootstrap import REPLICATES, resample_means
from itransf.experiments.reproduction.jobs import Job, Scope
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.stages.compression import make_point
from itransf.experiments.reproduction.stages.domain_sampling import make_training as make_domain_training
from itransf.experiments.reproduction.stages.domain_sampling import write_epochs
from itransf.experiments.reproduction.stages.families import FB15K, LARGER, WN18
from itransf.experiments.reproduction.stages.main import DATASETS, make_row
from itransf.experiments.reproduction.stages.sparse_encoding import make_coding
from itransf.experiments.reproduction.stages.sparseness import (
    FLOORS,
    MATRICES,
    find_shares,
    list_lengths,
    list_sizes,
    make_training,
    write_length,
)
from itransf.experiments.reproduction.summaries import Difference, Floats, Interval, find_interval, summarise
from itransf.experiments.reproduction.timing import EpochTimes
from itransf.experiments.reproduction.verdicts import (
    NAMES,
    NOT_MEASURED,
    Claim,
    Verdict,
    conclude,
    judge_better,
    judge_no_worse,
    judge_rise,
    judge_sign,
)

WHOLE = Scope()
STILL_AHEAD = {WN18: 18, LARGER: 18, FB15K: 30}
"""How few concepts the paper finds enough."""
MANY, FEW = 2200, 30
LOW, HIGH = min(paper.DOMAIN_SAMPLING), max(paper.DOMAIN_SAMPLING)
USUAL = 0.001
"""The λ of the paper's main table."""


def list_sparseness_claims() -> Iterator[Claim]:
    """Yield what the study of sparseness is said to show."""
    for dataset, matrices in MATRICES.items():
        where = f"{WHOLE.title(dataset)}, m = {matrices}"
        for epochs in reversed(list_lengths(WHOLE)):
            sparse, dense, l1 = (make_training(WHOLE, dataset, kind, epochs) for kind in ("sparse", "dense", "l1"))
            length = f"best of {write_length(sparse)} epochs"
            for metric, name in NAMES.items():
                judge = partial(judge_no_worse, row=sparse, other=dense, metric=metric)
                yield Claim("Sparse attention does no worse than dense", f"{where}, {length}, {name}", judge)
            judge = partial(judge_l1, training=l1, allowed=sparse.resolve().model.support_size)
            yield Claim("l1 does not make attention sparse", f"{where}, {length}", judge)
        judge = partial(judge_speed, dataset=dataset)
        yield Claim("Sparse attention is faster than dense", f"{where}, time of an epoch", judge)


def list_compression_claims() -> Iterator[Claim]:
    """Yield what the figure on compression is said to show."""
    for family, matrices in STILL_AHEAD.items():
        few, baseline = make_point(WHOLE, family, matrices), family.make_row(WHOLE, "stranse")
        for metric, name in NAMES.items():
            judge = partial(judge_better, ahead=few, behind=baseline, metric=metric)
            where = f"{family.title(WHOLE)}, m = {matrices}, {name}"
            yield Claim("With few matrices ITransF is still ahead of STransE", where, judge)
    text = f"From {MANY} matrices to {FEW}, Hits@10 falls by no more than {paper.COMPRESSION_LOSS} points"
    yield Claim(text, WHOLE.title("fb15k"), judge_fall)


def list_coding_claims() -> Iterator[Claim]:
    """Yield what the table on sparse coding is said to show."""
    for dataset in DATASETS:
        trained, coded = make_row(WHOLE, dataset, "itransf"), make_coding(WHOLE, dataset)
        for metric, name in NAMES.items():
            judge = partial(judge_better, ahead=trained, behind=coded, metric=metric)
            yield Claim("ITransF is ahead of sparse coding", f"{WHOLE.title(dataset)}, {name}", judge)


def list_domain_claims() -> Iterator[Claim]:
    """Yield what the table on domain sampling is said to show."""
    for dataset in DATASETS:
        none, low, usual, high = (make_domain_training(WHOLE, dataset, value) for value in (0.0, LOW, USUAL, HIGH))
        judge = partial(judge_rise, after=usual, before=none, metric="hits@10")
        where = f"{WHOLE.title(dataset)}, {write_epochs(usual)}"
        yield Claim("Domain sampling raises Hits@10", f"{where}, λ = {USUAL:g} against none", judge)
        for metric, name in NAMES.items():
            where = f"{WHOLE.title(dataset)}, {write_epochs(high)}, λ = {HIGH:g} against {LOW:g}"
            yield Claim(f"A larger λ raises {name}", where, partial(judge_rise, after=high, before=low, metric=metric))


def judge_fall(results: Results) -> Verdict:
    """Judge that Hits@10 on FB15k loses no more than the paper says, from many matrices to few."""
    rows = [summarise(results.find_seeds(make_point(WHOLE, FB15K, matrices))) for matrices in (FEW, MANY)]
    if rows[0] is None or rows[1] is None:
        return NOT_MEASURED
    found = rows[0].compare(rows[1], "hits@10")
    allowed = paper.COMPRESSION_LOSS / 100
    interval = Interval(found.interval.low + allowed, found.interval.high + allowed)
    word = judge_sign(Difference(found.value + allowed, interval), 1)
    return conclude(word, rows[0], rows[1], "hits@10", found)


def judge_speed(results: Results, dataset: str) -> Verdict:
    """Judge that an epoch takes less time with sparse attention; epochs are drawn anew."""
    jobs = [make_training(WHOLE, dataset, kind, method="timing") for kind in ("sparse", "dense")]
    records = [results.find_seeds(job) for job in jobs]
    if not all(records):
        return NOT_MEASURED
    times = [EpochTimes.read(found[0]["seconds_of_epochs"], job) for found, job in zip(records, jobs, strict=True)]
    draws = [each.average(partial(resample, salt=salt)) for salt, each in enumerate(times)]
    sparse, dense = (each.mean for each in times)
    difference = Difference(sparse - dense, find_interval(draws[0] - draws[1]))
    figures = f"{sparse:.3g} s against {dense:.3g} s: {write_plain(difference)}"
    return Verdict(judge_sign(difference, -1), f"{figures}; epochs: {times[0].count}, one process each")


def judge_l1(results: Results, training: Job, allowed: int) -> Verdict:
    """Judge that a side has more weights of some size under l1 than sparse attention allows; sides are drawn anew."""
    found = find_shares(results, training)
    if not found:
        return NOT_MEASURED
    counts = (list_sizes(found) >= FLOORS[-1]).sum(axis=1).astype(np.float64)
    difference = Difference(float(counts.mean() - allowed), find_interval(resample(counts, 0) - allowed))
    figures = f"{counts.mean():.1f} weights of a side are ≥ {FLOORS[-1]:g} of its largest, against {allowed}"
    detail = f"{figures}: {write_plain(difference)}; sides: {len(counts):,}; seeds: {len(found)}"
    return Verdict(judge_sign(difference, 1), detail, one_seed=len(found) == 1)


def resample(values: Floats, salt: int) -> Floats:
    """Return replicates of the mean of values drawn anew."""
    return resample_means(values[:, None], REPLICATES, np.random.default_rng(salt))[:, 0]


def write_plain(difference: Difference) -> str:
    """Return a difference with its sign, and its interval."""
    value, low, high = (f"{x:+.3g}" for x in (difference.value, difference.interval.low, difference.interval.high))
    return f"{value} ({low} to {high})"
