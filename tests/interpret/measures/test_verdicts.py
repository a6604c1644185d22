"""Verdicts: each branch, and a claim for each measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from interpret.measures.readings import make_reading
from itransf.data import Graph
from itransf.interpret import interpret_runs, read_model
from itransf.interpret.measures import CLAIMS, Interpretation, judge, write_verdict
from itransf.interpret.measures.structure import Finding, Gold, measure_symmetry, report_missing
from prediction.conftest import make_case


def make_finding(low: float, high: float, null: float | None, p: float | None) -> Finding:
    return Finding("inverse pairs", "concepts in common", (low + high) / 2, low, high, null, p, 5, "gold pairs")


@pytest.mark.parametrize(
    ("low", "high", "null", "p", "judgement", "words"),
    [
        (0.8, 1.0, 0.3, 0.001, "good", "Good: inverse relations share their concepts (0.90, by chance 0.30)."),
        (0.8, 1.0, 0.3, None, "good", "Good: "),
        (0.8, 1.0, 0.3, 0.2, "too few", "Too few to tell; not shown: inverse relations share"),
        (
            0.2,
            0.4,
            0.3,
            0.5,
            "at chance",
            "At chance; not shown: inverse relations share their concepts (0.30, ",
        ),
        (0.2, 1.0, 0.3, 0.01, "at chance", "At chance; "),
        (0.1, 0.2, 0.3, 0.99, "worse", "Worse than chance; not supported: inverse relations share"),
        (1.0, 1.0, None, None, "built in", "Good, because it is built in: inverse relations share their concepts."),
        (
            0.4,
            0.6,
            None,
            None,
            "broken",
            "Not supported: inverse relations share their concepts (50% do).",
        ),
    ],
)
def test_each_branch(low: float, high: float, null: Any, p: Any, judgement: str, words: str) -> None:
    finding = make_finding(low, high, null, p)
    assert judge(finding) == judgement
    assert write_verdict(finding).startswith(words)


def test_one_symmetric_relation_of_ten_is_too_few_to_tell(random_graph: Callable[..., Graph]) -> None:
    tops = np.arange(20).reshape(2, 10)
    tops[1, 3] = tops[0, 3]
    symmetric = np.arange(10) == 3
    reading = make_reading(random_graph(entities=15, relations=10), np.eye(20)[tops])
    found = measure_symmetry([reading], Gold(np.zeros((0, 2), dtype=np.int64), symmetric, None), 200)
    assert (found.value, judge(found)) == (1.0, "too few")
    assert write_verdict(found).startswith("Too few to tell; ")
    assert write_verdict(found).endswith("; 1 of 10 relations symmetric in train).")


def test_what_was_not_measured_has_no_verdict() -> None:
    missing = report_missing("inverse pairs", "average precision", "train has no inverse pairs")
    assert judge(missing) == write_verdict(missing) == ""


def test_every_measure_has_a_claim() -> None:
    readings = [read_model(make_case(name).model, make_case(name).graph, name) for name in ("itransf", "transe")]
    found = interpret_runs(readings[:1] * 2, readings[1:], draws=20)
    names = {finding.name for each in found for finding in each.findings}
    assert len(names) == len(CLAIMS) + 1  # domains have two statistics with one claim
    assert all(any(name.startswith(start) for start in CLAIMS) for name in names)
    shown = Interpretation("itransf", 1, found[0].findings).to_dict()["findings"]
    assert [each["verdict"] for each in shown] == [write_verdict(finding) for finding in found[0].findings]
