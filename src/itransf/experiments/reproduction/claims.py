"""The paper's claims, each judged by stored results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from itransf.experiments.reproduction.jobs import Scope
from itransf.experiments.reproduction.rarity import FREQUENT, RAREST, MacroHits
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.sections import Section, make_table
from itransf.experiments.reproduction.stages.families import Family, list_families
from itransf.experiments.reproduction.stages.rare import find_pair
from itransf.experiments.reproduction.study_claims import (
    list_coding_claims,
    list_compression_claims,
    list_domain_claims,
    list_sparseness_claims,
)
from itransf.experiments.reproduction.summaries import format_percent
from itransf.experiments.reproduction.verdicts import (
    NAMES,
    NOT_MEASURED,
    Claim,
    Verdict,
    judge_better,
    judge_sign,
    write_difference,
)

WHOLE = Scope()
METHOD = (
    "The second figure is subtracted from the first; in brackets is where 95 % of the differences lie when test triples "  # noqa: E501
    "and seeds are drawn anew 1000 times, both rows on the same triples. Where that holds zero, the verdict is *within "
    "noise*; what is to do *no worse* holds there. Where a row has one seed, nothing is known of what another would "
    "give, and the verdict says so. *Larger batches* are a second choice of settings, made once an earlier row had "
    "been ranked on test, and the main row's k was chosen after both (see *How settings in doubt were chosen*)."
)


def list_main_claims() -> Iterator[Claim]:
    """Yield what the main table is said to show."""
    for family in list_families(WHOLE):
        rows = {row: family.make_row(WHOLE, row) for row in ("stranse", "itransf")}
        for metric, name in NAMES.items():
            judge = partial(judge_better, ahead=rows["itransf"], behind=rows["stranse"], metric=metric)
            yield Claim("ITransF is ahead of STransE", f"{family.title(WHOLE)}, {name}", judge)


def list_rare_claims() -> Iterator[Claim]:
    """Yield what the figure on rare relations is said to show."""
    for family in list_families(WHOLE):
        title = f"{family.title(WHOLE)}, rarest third, Hits@10"
        gap = f"{family.title(WHOLE)}, Hits@10 of the rarest third less that of the most frequent"
        yield Claim("ITransF is ahead on rare relations", title, partial(judge_rarest, family=family))
        if family.dataset == "wn18":
            judge = partial(judge_rarest, family=family, whole=False)
            yield Claim("The same without the relation of the fewest test triples", title, judge)
        yield Claim("Rare relations gain most", gap, partial(judge_gain, family=family))


def judge_rarest(results: Results, family: Family, whole: bool = True) -> Verdict:
    """Judge that ITransF is ahead of STransE on the rarest third, or on what is left of it without one relation."""
    pair = find_pair(results, WHOLE, family)
    if pair is None:
        return NOT_MEASURED
    chosen = pair[0].choose_bucket(RAREST) if whole else pair[0].choose_without_smallest(RAREST)
    without, with_sharing = (hits.average(chosen) for hits in pair)
    return judge_hits(with_sharing, without)


def judge_gain(results: Results, family: Family) -> Verdict:
    """Judge that the rarest third gains more from ITransF than the most frequent third does."""
    pair = find_pair(results, WHOLE, family)
    if pair is None:
        return NOT_MEASURED
    rarest, frequent = (pair[0].choose_bucket(bucket) for bucket in (RAREST, FREQUENT))
    without, with_sharing = (hits.average(rarest) - hits.average(frequent) for hits in pair)
    return judge_hits(with_sharing, without)


def judge_hits(first: MacroHits, second: MacroHits) -> Verdict:
    """Judge that one macro average is above another."""
    difference = first.compare(second)
    figures = " against ".join(format_percent(hits.median) for hits in (first, second))
    seeds = " and ".join(str(len(hits.values)) for hits in (first, second))
    return Verdict(judge_sign(difference, 1), f"{figures}: {write_difference(difference, 'hits@10')}; seeds: {seeds}")


CLAIMS: tuple[Claim, ...] = (
    *list_main_claims(),
    *list_rare_claims(),
    *list_sparseness_claims(),
    *list_compression_claims(),
    *list_domain_claims(),
    *list_coding_claims(),
)
"""Every claim, in the order of the paper."""


def judge_claims(results: Results) -> Section:
    """Return the verdict on every claim."""
    verdicts = [(claim, claim.judge(results)) for claim in CLAIMS]
    rows = [(claim.text, claim.where, verdict.words, verdict.detail) for claim, verdict in verdicts]
    table = make_table(("Claim", "Where", "Verdict", "Difference"), rows, names=4)
    return Section("The paper's claims", (METHOD, table))
