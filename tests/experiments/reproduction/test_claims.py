from __future__ import annotations

import pytest

from experiments.reproduction.conftest import Store
from itransf.experiments.reproduction.claims import CLAIMS, WHOLE, judge_claims
from itransf.experiments.reproduction.results import Results
from itransf.experiments.reproduction.stages.domain_sampling import make_training
from itransf.experiments.reproduction.stages.main import make_row
from itransf.experiments.reproduction.summaries import Difference, Interval
from itransf.experiments.reproduction.verdicts import (
    NOT_MEASURED,
    Claim,
    Verdict,
    judge_better,
    judge_no_worse,
    judge_rise,
    judge_sign,
    write_difference,
)

ITRANSF, STRANSE, DOMAIN = (make_row(WHOLE, "wn18", row) for row in ("itransf", "stranse", "itransf-domain"))


def find_claim(text: str, where: str) -> Claim:
    (found,) = [claim for claim in CLAIMS if (claim.text, claim.where) == (text, where)]
    return found


def test_nothing_is_claimed_of_what_was_not_measured(results: Results) -> None:
    section = judge_claims(results)
    assert {row[2] for row in section.tables[0].rows} == {"not measured yet"}
    assert len({(claim.text, claim.where) for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize(
    ("low", "high", "wanted", "word"),
    [
        (0.1, 0.3, 1, "holds"),
        (0.1, 0.3, -1, "does not hold"),
        (-0.3, -0.1, -1, "holds"),
        (-0.3, -0.1, 1, "does not hold"),
        (-0.1, 0.3, 1, "within noise"),
        (0.0, 0.0, 1, "within noise"),
    ],
)
def test_a_difference_is_judged_by_its_interval(low: float, high: float, wanted: int, word: str) -> None:
    difference = Difference((low + high) / 2, Interval(low, high))
    assert judge_sign(difference, wanted) == word  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "theirs", "better", "rise", "no_worse"),
    [
        (100.0, 120.0, "holds", "does not hold", "holds"),
        (120.0, 100.0, "does not hold", "holds", "does not hold"),
        (100.0, 100.05, "within noise", "within noise", "holds"),
    ],
)
def test_a_lower_mean_rank_is_better(
    results: Results, store: Store, ours: float, theirs: float, better: str, rise: str, no_worse: str
) -> None:
    store(ITRANSF, mr=ours)
    assert judge_better(results, ITRANSF, STRANSE, "mr") == NOT_MEASURED
    store(STRANSE, mr=theirs)
    assert judge_better(results, ITRANSF, STRANSE, "mr").word == better
    assert judge_rise(results, ITRANSF, STRANSE, "mr").word == rise
    assert judge_no_worse(results, ITRANSF, STRANSE, "mr").word == no_worse


def test_a_verdict_says_what_it_rests_on(results: Results, store: Store) -> None:
    store(ITRANSF, hits=0.942)
    store(STRANSE, hits=0.91)
    verdict = find_claim("ITransF is ahead of STransE", "WN18, Hits@10").judge(results)
    assert verdict.word == "holds"
    assert verdict.detail.startswith("94.2 against 91.0: +3.20 (+")
    assert verdict.detail.endswith("; seeds: 1 and 1")
    store(DOMAIN, hits=0.9)
    store(make_training(WHOLE, "wn18", 0.0), hits=0.942)
    assert (
        find_claim("Domain sampling raises Hits@10", "WN18, the first 210 of 300 epochs, λ = 0.001 against none")
        .judge(results)
        .word
        == "does not hold"
    )


def test_claims_about_rare_relations(results: Results, store: Store) -> None:
    store(STRANSE, hits=0.5, rare_hits=0.4)
    store(ITRANSF, hits=0.6, rare_hits=0.9)
    where = "WN18, rarest third, Hits@10"
    verdict = find_claim("ITransF is ahead on rare relations", where).judge(results)
    assert verdict.word == "holds"
    assert verdict.detail.startswith("95.0 against 36.7: +58.33 (")
    alone = find_claim("The same without the relation of the fewest test triples", where).judge(results)
    assert alone.detail.startswith("90.0 against 40.0: +50.00 (")
    gap = "WN18, Hits@10 of the rarest third less that of the most frequent"
    gain = find_claim("Rare relations gain most", gap).judge(results)
    assert (gain.word, gain.detail.partition(";")[0].partition(" (")[0]) == ("holds", "35.0 against -13.3: +48.33")


def test_differences_have_signs_and_hits_are_in_points() -> None:
    difference = Difference(-0.0123, Interval(-0.02, 0.001))
    assert write_difference(difference, "hits@10") == "-1.23 (-2.00 to +0.10)"
    assert write_difference(Difference(12.34, Interval(-1.0, 1000.0)), "mr") == "+12.3 (-1.0 to +1,000.0)"
    assert Verdict("holds").detail == "–"
