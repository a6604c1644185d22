from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from reproduction.claims import Claim, judge, read_claims
from reproduction.experiments import Row, read_experiments
from reproduction.results import Results

Store = Callable[..., None]
PAGE = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
"""The page that stored results give, as `test_reproduction_page` checks."""
ITRANSF, STRANSE = (Row("", f"wn18/{name}").make_job() for name in ("itransf", "stranse"))


def test_every_claim_is_about_rows_of_a_table() -> None:
    rows = [row for each in read_experiments().values() for table in each.tables for row in table.rows]
    known = {(row.preset, *row.set) for row in rows}
    for claim in read_claims():
        assert tuple(claim.first) in known
        assert not claim.second or tuple(claim.second) in known
        (verdicts,) = [line for line in PAGE if line.startswith(f"| {claim.text} |")]
        assert f"{claim.where}: " in verdicts
        assert "not measured" not in verdicts


def test_nothing_is_claimed_of_what_was_not_measured(results: Results) -> None:
    assert {judge(claim, metric, results).word for claim in read_claims() for metric in claim.metrics} == {
        "not measured"
    }


@pytest.mark.parametrize(
    ("wanted", "ours", "theirs", "word"),
    [
        ("better", 100.0, 120.0, "holds"),
        ("better", 120.0, 100.0, "does not hold"),
        ("better", 100.0, 100.05, "within noise"),
        ("no worse", 100.0, 100.05, "holds"),
        ("no worse", 120.0, 100.0, "does not hold"),
        ("higher", 120.0, 100.0, "holds"),
        ("higher", 100.0, 120.0, "does not hold"),
    ],
)
def test_a_lower_mean_rank_is_better(
    results: Results, store: Store, wanted: str, ours: float, theirs: float, word: str
) -> None:
    claim = Claim("", "", ["wn18/itransf"], ["wn18/stranse"], wanted=wanted)
    store(ITRANSF, mr=ours)
    assert judge(claim, "mr", results).word == "not measured"
    store(STRANSE, mr=theirs)
    verdict = judge(claim, "mr", results)
    assert (verdict.word, verdict.one_seed) == (word, True)
    assert verdict.difference is not None
    assert verdict.difference.value == pytest.approx(ours - theirs)


@pytest.mark.parametrize(("few", "word"), [(0.80, "does not hold"), (0.8102, "holds"), (0.8091, "within noise")])
def test_a_slack_is_in_favour_of_the_first_row(results: Results, store: Store, few: float, word: str) -> None:
    steady = [0.81 + 0.0002 * (-1) ** place for place in range(1000)]
    store(STRANSE, hits=0.81, bootstrap={"mr": [1.0] * 1000, "hits@10": [0.81] * 1000})
    store(ITRANSF, hits=few, bootstrap={"mr": [1.0] * 1000, "hits@10": [value + few - 0.81 for value in steady]})
    claim = Claim("", "", ["wn18/itransf"], ["wn18/stranse"], slack=0.0009)
    assert judge(claim, "hits@10", results).word == word


def test_rare_relations_times_and_weights_are_judged_alike(results: Results, store: Store) -> None:
    sparse = ("model.concepts=22",)
    dense, l1 = ((*sparse, f"model.attention={kind}") for kind in ("dense", "l1"))
    for settings in (sparse, dense):
        store(Row("", "wn18/itransf", set=settings).make_job().timing)
    store(Row("", "wn18/itransf", set=l1).make_job())
    faster = Claim("", "", ["wn18/itransf", *sparse], ["wn18/itransf", *dense])
    verdict = judge(faster, "seconds", results)
    assert (verdict.word, verdict.one_seed) == ("holds", False)
    for against, word in ((1, "holds"), (2.0, "within noise"), (3, "does not hold")):
        assert judge(Claim("", "", ["wn18/itransf", *l1], against=against), "weights", results).word == word
    store(STRANSE, hits=0.5, rare_hits=0.4)
    store(ITRANSF, hits=0.6, rare_hits=0.9)
    rare = Claim("", "", ["wn18/itransf"], ["wn18/stranse"])
    for metric, value in (("rarest", 0.5833), ("rarest_but_one", 0.5), ("gap", 0.4833)):
        verdict = judge(rare, metric, results)
        assert verdict.word == "holds"
        assert verdict.difference is not None
        assert verdict.difference.value == pytest.approx(value, abs=1e-4)


def test_figure_3_is_judged_by_the_stored_results() -> None:
    (line,) = [line for line in PAGE if line.startswith("|") and "(Figure 3)" in line]
    assert "| 3 of 9 " in line
